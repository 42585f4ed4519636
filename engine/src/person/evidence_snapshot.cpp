// Evidence and its blend as bytes and back: one list of fields for both ways, and what has to hold before a restored
// one is used. The order of the fields is the snapshot's format (docs/format.md): it does not follow the classes.
#include <algorithm>

#include "person/bounds.h"
#include "person/evidence.h"
#include "stap.h"

namespace stap {

namespace {

// Where a cue's successors are: new ones while reading, those that are there while writing.
Successors& successors_of(Cues::Generation& cues, uint64_t key) { return cues[key]; }
const Successors& successors_of(const Cues::Generation& cues, uint64_t key) { return cues.at(key); }

// In the order of their keys: the same state gives the same bytes.
template <typename Archive, typename Generation>
void generation(Archive& a, Generation& cues) {
    std::vector<uint64_t> keys;
    for (const auto& entry : cues) keys.push_back(entry.first);
    std::sort(keys.begin(), keys.end());
    keys.resize(a.size(keys.size(), kGeneration));
    for (uint64_t key : keys) {
        a.value(key);
        auto& successors = successors_of(cues, key);
        archive_values(a, successors.unit, successors.total);
        const size_t size = a.size(successors.list.size(), kSuccessors);
        if constexpr (Archive::kReads) successors.list.resize(size);
        for (auto& successor : successors.list)
            archive_values(a, successor.app.place, successor.app.serial, successor.weight);
    }
}

template <typename Archive, typename Count, typename First, typename Second>
void archive_returns(Archive& a, Count& whenever, First& first, Second& second) {
    archive_values(a, whenever.returns, whenever.launches);
    for (auto& count : first) archive_values(a, count.returns, count.launches);
    for (auto& count : second) archive_values(a, count.returns, count.launches);
}

}  // namespace

// Everything that cannot be computed from the rest.
template <typename Archive, typename Self>
void Evidence::fields(Archive& a, Self& e) {
    auto& b = e.blend_;
    const size_t count = a.size(b.apps.size(), kMostApps);
    if constexpr (Archive::kReads) {
        e.apps_.resize(count);
        b.apps.resize(count);
        b.recency.resize(count);
        e.launches_.apps.resize(count);
    }
    for (size_t i = 0; i < count; ++i) {
        auto& app = e.apps_[i];
        auto& blended = b.apps[i];
        a.text(blended.name, STAP_MOST_APP_BYTES);
        archive_values(a, blended.serial, blended.count, app.in_session, app.first_usage, blended.last_usage,
                       app.session, app.opened, blended.clock, app.starts, app.log_minutes, app.log_gap_minutes,
                       app.log_gap_usages);
        archive_values(a, blended.fast, app.by_usage[0], app.by_usage[1], app.by_usage[2], blended.slow);
        archive_values(a, blended.minutes, app.by_minute[0], app.by_minute[1], blended.day, app.by_minute[2]);
        archive_list(a, blended.hours);
        archive_returns(a, blended.returns.whenever, blended.returns.paused, blended.returns.by_length);
        auto& launched = e.launches_.apps[i];
        archive_values(a, launched.launch, launched.waking, launched.by_launch[0], launched.by_launch[1],
                       launched.wakings);
    }
    archive_list(a, b.recency);
    for (auto* cues : {&b.sequence, &b.stays, &e.others_, &e.recent_}) {
        generation(a, cues->young);
        generation(a, cues->old);
    }
    archive_list(a, b.weights);
    for (auto& set : b.biases) archive_list(a, set);
    archive_list(a, e.rank_);
    for (auto& after : e.rank_after_) archive_list(a, after);
    for (auto& app : b.past) archive_values(a, app.place, app.serial);
    archive_values(a, b.serials, b.usages, e.sessions_, e.session_usages_, b.past_size, b.stay, b.opened, e.seen_,
                   b.hour, b.clock, e.gap_, e.surprise_, e.mean_surprise_, e.fresh_share_, e.last_rank_,
                   e.begins_session_, e.was_closed_, b.left, b.is_closed);
    archive_returns(a, b.returns.whenever, b.returns.by_length, b.returns.hours[0]);
    for (auto& count : b.returns.hours[1]) archive_values(a, count.returns, count.launches);
    archive_list(a, b.returns.weights);
    auto& l = e.launches_;
    archive_values(a, l.launches, l.wakings, l.since_waking, l.returned, e.last_pause_);
    for (auto& counts : l.ranks) archive_list(a, counts);
}

void Evidence::save(Writer& out) const { fields(out, *this); }

void Evidence::load(Reader& in) {
    fields(in, *this);
    check();
    Blend& b = blend_;
    for (uint32_t place = 0; place < b.apps.size(); ++place)
        if (!b.places.emplace(b.apps[place].name, place).second) damaged("evidence of one app twice");
    for (uint32_t r = 0; r < b.recency.size(); ++r) b.apps[b.recency[r]].rank = r;
    if (b.apps.empty()) return;
    b.predict();
    look_further(b.now);
}

// What later code relies on.
void Evidence::check() const {
    const Blend& b = blend_;
    std::vector<bool> seen(b.apps.size());
    for (uint32_t place : b.recency) {
        if (place >= b.apps.size() || seen[place]) damaged("evidence of no app");
        seen[place] = true;
    }
    for (size_t i = 0; i < b.apps.size(); ++i) {
        const Blend::App& app = b.apps[i];
        if (app.name.empty() || app.count == 0 || app.serial == 0 || app.serial > b.serials ||
            app.last_usage >= b.usages || apps_[i].first_usage > app.last_usage || apps_[i].session > sessions_ ||
            launches_.apps[i].launch > launches_.launches || launches_.apps[i].waking > launches_.wakings)
            damaged("evidence that contradicts itself");
    }
    for (const Cues* cues : {&b.sequence, &b.stays, &others_, &recent_})
        for (const Cues::Generation* generation : {&cues->young, &cues->old})
            for (const auto& [key, successors] : *generation)
                for (const Successor& s : successors.list)
                    if (s.app.place >= b.apps.size()) damaged("evidence of no successor");
    if (b.past_size > kLongest || b.stay < -1 || b.stay > 3 || !(b.hour >= 0 && b.hour < 24) || gap_ < 0)
        damaged("evidence that contradicts itself");
}

}  // namespace stap
