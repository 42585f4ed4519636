// Evidence as bytes and back: one list of fields for both ways, and what has to hold before a restored one is used.
#include <algorithm>

#include "person/evidence.h"
#include "stap.h"

namespace stap {
namespace {

// Where a context's successors are: new ones while reading, those that are there while writing.
Successors& contexts_at(Contexts::Generation& contexts, uint64_t key) { return contexts[key]; }
const Successors& contexts_at(const Contexts::Generation& contexts, uint64_t key) { return contexts.at(key); }

}  // namespace

// Everything that cannot be computed from the rest, in one order for both ways.
template <typename Archive, typename Self>
void Evidence::fields(Archive& a, Self& self) {
    const auto all = [&](auto&... values) { (a.value(values), ...); };
    const auto list = [&](auto& values) {
        for (auto& value : values) a.value(value);
    };
    // In the order of their keys: the same state gives the same bytes.
    const auto generation = [&](auto& contexts) {
        std::vector<uint64_t> keys;
        for (const auto& one : contexts) keys.push_back(one.first);
        std::sort(keys.begin(), keys.end());
        keys.resize(a.size(keys.size(), kGeneration));
        for (uint64_t key : keys) {
            a.value(key);
            auto& successors = contexts_at(contexts, key);
            all(successors.unit, successors.total);
            const size_t size = a.size(successors.list.size(), kSuccessors);
            if constexpr (Archive::kReads) successors.list.resize(size);
            for (auto& successor : successors.list) all(successor.app.place, successor.app.serial, successor.weight);
        }
    };
    const size_t count = a.size(self.apps_.size(), kMostApps);
    if constexpr (Archive::kReads) {
        self.apps_.resize(count);
        self.recency_.resize(count);
    }
    for (auto& app : self.apps_) {
        a.text(app.name, STAP_MOST_APP_BYTES);
        all(app.serial, app.count, app.in_session, app.first_usage, app.last_usage, app.session, app.opened, app.clock,
            app.starts, app.log_minutes, app.log_gap_minutes, app.log_gap_usages);
        list(app.by_usage);
        list(app.by_minute);
        list(app.hours);
    }
    list(self.recency_);
    for (auto* contexts : {&self.sequence_, &self.stays_, &self.others_, &self.recent_}) {
        generation(contexts->young);
        generation(contexts->old);
    }
    list(self.weights_);
    for (auto& set : self.biases_) list(set);
    list(self.rank_);
    for (auto& after : self.rank_after_) list(after);
    for (auto& app : self.past_) all(app.place, app.serial);
    all(self.serials_, self.usages_, self.sessions_, self.session_usages_, self.past_size_, self.stay_, self.opened_,
        self.seen_, self.hour_, self.clock_, self.gap_, self.surprise_, self.mean_surprise_, self.fresh_share_,
        self.last_rank_, self.begins_session_);
}

void Evidence::save(Writer& out) const { fields(out, *this); }

void Evidence::load(Reader& in) {
    fields(in, *this);
    check();
    for (uint32_t place = 0; place < apps(); ++place)
        if (!places_.emplace(apps_[place].name, place).second) damaged("evidence of one app twice");
    for (uint32_t r = 0; r < recency_.size(); ++r) apps_[recency_[r]].rank = r;
    if (!apps_.empty()) predict();
}

// What later code relies on.
void Evidence::check() const {
    std::vector<bool> seen(apps_.size());
    for (uint32_t place : recency_) {
        if (place >= apps_.size() || seen[place]) damaged("evidence of no app");
        seen[place] = true;
    }
    for (const App& app : apps_)
        if (app.name.empty() || app.count == 0 || app.serial == 0 || app.serial > serials_ ||
            app.last_usage >= usages_ || app.first_usage > app.last_usage || app.session > sessions_)
            damaged("evidence that contradicts itself");
    for (const Contexts* contexts : {&sequence_, &stays_, &others_, &recent_})
        for (const Contexts::Generation* generation : {&contexts->young, &contexts->old})
            for (const auto& [key, successors] : *generation)
                for (const Successor& s : successors.list)
                    if (s.app.place >= apps_.size()) damaged("evidence of no successor");
    if (apps_.empty() != (usages_ == 0) || past_size_ > 5 || stay_ < -1 || stay_ > 3 || !(hour_ >= 0 && hour_ < 24) ||
        gap_ < 0)
        damaged("evidence that contradicts itself");
}

}  // namespace stap
