#include "person/notices.h"

#include <algorithm>
#include <iterator>

#include "person/bounds.h"

namespace stap {
namespace {

double bounded(double value, double most) { return std::min(std::max(value, -most), most); }

}  // namespace

Notices::Notices() { std::copy(std::begin(kNoticeStart), std::end(kNoticeStart), weights); }

std::vector<Notices::App>::iterator Notices::find(std::string_view name) {
    return std::find_if(apps.begin(), apps.end(), [&](const App& app) { return app.name == name; });
}

void Notices::notify(std::string_view name, double minutes) {
    auto known = find(name);
    if (known == apps.end()) {
        if (apps.size() == kMostApps) apps.erase(apps.begin());
        apps.emplace_back();
        apps.back().name = name;
    } else {
        std::rotate(known, known + 1, apps.end());
    }
    apps.back().minutes = minutes;
    apps.back().waits = true;
}

void Notices::open(std::string_view name) {
    const auto known = find(name);
    if (known != apps.end()) known->waits = false;
}

bool Notices::forget(std::string_view name) {
    const auto known = find(name);
    if (known == apps.end()) return false;
    apps.erase(known);
    return true;
}

void Notices::look(const Blend& blend, const Outlook& outlook) {
    asking_.clear();
    const App* latest = nullptr;
    for (App& app : apps) {
        const double age = std::max(0.0, outlook.seen - app.minutes);
        if (!app.waits || !(age < kNoticeAges[2])) continue;
        const auto entry = blend.places.find(app.name);
        if (entry == blend.places.end()) continue;
        asking_.resize(blend.apps.size());
        Asking& asking = asking_[entry->second];
        asking.app = &app;
        asking.signs[age < kNoticeAges[0] ? kNoticeYoung : age < kNoticeAges[1] ? kNoticeRecent : kNoticeOld] = true;
        asking.signs[kNoticeSince] = app.minutes >= blend.left;
        if (!latest || app.minutes >= latest->minutes) latest = &app;
    }
    for (Asking& asking : asking_) asking.signs[kNoticeLatest] = latest && asking.app == latest;
}

void Notices::add(const std::vector<uint32_t>& places, std::vector<double>& score) const {
    if (asking_.empty()) return;
    for (size_t i = 0; i < places.size(); ++i) {
        const Asking& asking = asking_[places[i]];
        if (!asking.app) continue;
        score[i] += asking.app->weight;
        for (uint32_t sign = 0; sign < kNoticeSigns; ++sign)
            if (asking.signs[sign]) score[i] += weights[sign];
    }
}

void Notices::learn(const std::vector<uint32_t>& places, double total, const std::vector<double>& probability,
                    uint32_t chosen) {
    if (asking_.empty()) return;
    double steps[kNoticeSigns] = {};
    for (size_t i = 0; i < places.size(); ++i) {
        Asking& asking = asking_[places[i]];
        if (!asking.app) continue;
        const double surprise = (places[i] == chosen) - probability[i] / total;
        for (uint32_t sign = 0; sign < kNoticeSigns; ++sign)
            if (asking.signs[sign]) steps[sign] += surprise;
        asking.app->weight = bounded(asking.app->weight + kOwnNoticeRate * surprise, kMostOwnNotice);
    }
    for (uint32_t sign = 0; sign < kNoticeSigns; ++sign)
        weights[sign] = bounded(weights[sign] + kNoticeRate * steps[sign], kMostNotice);
}

}  // namespace stap
