// Evidence and its blend as bytes and back: one list of fields for both ways, and what has to hold before a restored
// one is used. The order of the fields is the snapshot's format (docs/format.md): it does not follow the classes.
#include <algorithm>

#include "person/bounds.h"
#include "person/evidence.h"
#include "stap.h"

namespace stap {

struct EvidenceArchive {
    // Where a cue's successors are: new ones while reading, those that are there while writing.
    static Successors& successors_of(Cues::Generation& cues, uint64_t key) { return cues[key]; }
    static const Successors& successors_of(const Cues::Generation& cues, uint64_t key) { return cues.at(key); }

    // In the order of their keys: the same state gives the same bytes.
    template <typename Archive, typename Generation>
    static void generation(Archive& a, Generation& cues) {
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

    // Everything that cannot be computed from the rest.
    template <typename Archive, typename Self>
    static void fields(Archive& a, Self& e) {
        auto& b = e.blend_;
        const size_t count = a.size(b.apps_.size(), kMostApps);
        if constexpr (Archive::kReads) {
            e.apps_.resize(count);
            b.apps_.resize(count);
            b.recency_.resize(count);
        }
        for (size_t i = 0; i < count; ++i) {
            auto& app = e.apps_[i];
            auto& blended = b.apps_[i];
            a.text(blended.name, STAP_MOST_APP_BYTES);
            archive_values(a, blended.serial, blended.count, app.in_session, app.first_usage, blended.last_usage,
                           app.session, app.opened, blended.clock, app.starts, app.log_minutes, app.log_gap_minutes,
                           app.log_gap_usages);
            archive_values(a, blended.fast, app.by_usage[0], app.by_usage[1], app.by_usage[2], blended.slow);
            archive_values(a, blended.minutes, app.by_minute[0], app.by_minute[1], blended.day, app.by_minute[2]);
            archive_list(a, blended.hours);
        }
        archive_list(a, b.recency_);
        for (auto* cues : {&b.sequence_, &b.stays_, &e.others_, &e.recent_}) {
            generation(a, cues->young);
            generation(a, cues->old);
        }
        archive_list(a, b.weights_);
        for (auto& set : b.biases_) archive_list(a, set);
        archive_list(a, e.rank_);
        for (auto& after : e.rank_after_) archive_list(a, after);
        for (auto& app : b.past_) archive_values(a, app.place, app.serial);
        archive_values(a, b.serials_, b.usages_, e.sessions_, e.session_usages_, b.past_size_, b.stay_, b.opened_,
                       e.seen_, b.hour_, b.clock_, e.gap_, e.surprise_, e.mean_surprise_, e.fresh_share_, e.last_rank_,
                       e.begins_session_);
    }

    // What later code relies on.
    static void check(const Evidence& e) {
        const Blend& b = e.blend_;
        std::vector<bool> seen(b.apps());
        for (uint32_t place : b.recency_) {
            if (place >= b.apps() || seen[place]) damaged("evidence of no app");
            seen[place] = true;
        }
        for (uint32_t i = 0; i < b.apps(); ++i) {
            const Blend::App& app = b.apps_[i];
            if (app.name.empty() || app.count == 0 || app.serial == 0 || app.serial > b.serials_ ||
                app.last_usage >= b.usages_ || e.apps_[i].first_usage > app.last_usage ||
                e.apps_[i].session > e.sessions_)
                damaged("evidence that contradicts itself");
        }
        for (const Cues* cues : {&b.sequence_, &b.stays_, &e.others_, &e.recent_})
            for (const Cues::Generation* generation : {&cues->young, &cues->old})
                for (const auto& [key, successors] : *generation)
                    for (const Successor& s : successors.list)
                        if (s.app.place >= b.apps()) damaged("evidence of no successor");
        if ((b.apps() == 0) != (b.usages_ == 0) || b.past_size_ > kLongest || b.stay_ < -1 || b.stay_ > 3 ||
            !(b.hour_ >= 0 && b.hour_ < 24) || e.gap_ < 0)
            damaged("evidence that contradicts itself");
    }

    // What is not saved follows from what is.
    static void complete(Evidence& e) {
        Blend& b = e.blend_;
        for (uint32_t place = 0; place < b.apps(); ++place)
            if (!b.places_.emplace(b.apps_[place].name, place).second) damaged("evidence of one app twice");
        for (uint32_t r = 0; r < b.recency_.size(); ++r) b.apps_[b.recency_[r]].rank = r;
        if (b.apps() == 0) return;
        b.predict();
        e.update();
    }
};

void Evidence::save(Writer& out) const { EvidenceArchive::fields(out, *this); }

void Evidence::load(Reader& in) {
    EvidenceArchive::fields(in, *this);
    EvidenceArchive::check(*this);
    EvidenceArchive::complete(*this);
}

}  // namespace stap
