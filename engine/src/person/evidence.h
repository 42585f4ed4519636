// Evidence: what a person's whole history says of every app, kept event by event and blind to what an app is.
//
// Inside, the `blend` predictor (predictors/blend.py) runs along: its experts and its mix, which a person's own choices
// correct, are the first of the statistics. model/evidence.py is the same in Python; tests hold the two together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/archive.h"
#include "person/bounds.h"
#include "person/cues.h"

namespace stap {

constexpr uint32_t kExperts = 9;      // of the blend: fast, slow, orders 1 to 3, minutes, day, hour, stay
constexpr uint32_t kPlaces = 4;       // how many of the latest apps have a bias of their own
constexpr uint32_t kBiasSets = 5;     // always, and for each of four lengths of stay
constexpr uint32_t kUsageRates = 5;   // fading by usages: the blend's two are the first and the last
constexpr uint32_t kMinuteRates = 5;  // fading by minutes: the blend's are the first and the fourth
constexpr uint32_t kRanks = 16;       // of recency that are told apart; the last is "further back"
constexpr uint32_t kRankBuckets = 5;
constexpr uint32_t kStatistics = 36;
constexpr uint32_t kContextValues = 26;

class Evidence {
   public:
    Evidence();

    void observe(std::string_view app, int action, double minutes, double hour);

    uint32_t apps() const { return uint32_t(apps_.size()); }
    const std::string& name(uint32_t place) const { return apps_[place].name; }
    uint32_t rank(uint32_t place) const { return apps_[place].rank; }  // 0: the current app, 1: the one before, ...
    double probability(uint32_t place) const { return probability_[place]; }  // the blend's; 0 for the current app

    // The k places the blend holds most likely, best first; never the current app.
    void candidates(uint32_t k, std::vector<uint32_t>& places) const;
    void statistics(uint32_t place, float* out) const;  // (kStatistics)
    void context(float* out) const;                     // (kContextValues)

    size_t bytes() const;  // held in memory, about

    void save(Writer& out) const;
    void load(Reader& in);  // into a fresh one; fails with STAP_ERROR_STATE

   private:
    template <typename Archive, typename Self>
    static void fields(Archive& archive, Self& self);
    void check() const;

    struct App {
        std::string name;
        uint32_t serial = 0, rank = 0, count = 0, in_session = 0;
        uint64_t first_usage = 0, last_usage = 0, session = 0;
        double opened = 0;                  // minutes of its last open
        double clock = 0;                   // of its last open
        double by_usage[kUsageRates] = {};  // fading counts, as of its last open
        double by_minute[kMinuteRates] = {};
        double hours[24] = {};                           // a usage's footprint on the clock; 1 is a usage spread evenly
        double starts = 0;                               // sessions it began
        double log_minutes = 0;                          // sum of the logarithms of its stays
        double log_gap_minutes = 0, log_gap_usages = 0;  // sums over its returns
    };

    void open(std::string_view app, double minutes, double hour);
    void close(std::string_view app, double minutes, double hour);
    uint32_t place_of(std::string_view app, bool& fresh);
    void learn(uint32_t chosen);
    void count_contexts(AppId app);
    void count_rank(uint32_t rank);
    void predict();
    void sharpen(const Contexts& contexts, uint64_t key, const double* prior, double* out) const;
    uint64_t past_key(uint32_t order) const;
    uint64_t kind_key(uint32_t kind, uint32_t bucket) const;

    std::vector<App> apps_;
    std::unordered_map<std::string, uint32_t> places_;
    std::vector<uint32_t> recency_;  // places, latest first
    uint32_t serials_ = 0;

    Contexts sequence_, stays_, others_, recent_;
    double weights_[kExperts], biases_[kBiasSets][kPlaces] = {};
    double rank_[kRanks], rank_after_[kRankBuckets][kRanks];

    uint64_t usages_ = 0, sessions_ = 0, session_usages_ = 0;
    AppId past_[5] = {};  // the latest apps, latest first
    uint32_t past_size_ = 0;
    int32_t stay_ = -1;             // the bucket of the current usage's length, -1 while it is open
    double opened_ = 0, seen_ = 0;  // minutes of the last open and of the last event
    double hour_ = 0, clock_ = 0;   // clock_: minutes that passed, never backwards
    double gap_ = 0, surprise_ = 0, mean_surprise_ = 0, fresh_share_ = 1;
    uint32_t last_rank_ = kRanks - 1;
    bool begins_session_ = true;

    // What follows from all this after every event.
    std::vector<double> probability_;  // (apps)
    std::vector<double> share_;        // (kShares, apps): the experts, then the other contexts
    std::vector<double> log_share_;    // (kExperts, apps)
    double minute_totals_[kMinuteRates] = {};
};

}  // namespace stap
