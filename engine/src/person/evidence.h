// Evidence: what a person's whole history says of every app, kept event by event and blind to what an app is.
//
// Inside, the `blend` predictor runs along: its mix and its experts are the first of the statistics, and the others
// count what it does not look at. Evidence in Python is the same; tests hold the two together.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "files/archive.h"
#include "person/blend.h"
#include "person/launches.h"
#include "person/statistics.h"

namespace stap {

constexpr uint32_t kRates = 3;  // of fading, beside the blend's own
constexpr double kUsageHalfLives[kRates] = {8, 24, 70};
constexpr double kMinuteHalfLives[kRates] = {30, 180, 10080};
constexpr double kSessionGap = 5.0;  // minutes without an app that end a session
constexpr double kRecentFade = 0.85, kRankFade = 0.995, kRankAfterFade = 0.99;
constexpr double kMostSurprise = 10.0;
constexpr double kTiny = 1e-4;   // of a share whose logarithm is taken
constexpr double kLeast = 1e-7;  // of a probability whose logarithm is taken
constexpr uint32_t kRankBuckets = 5;

class Evidence {
   public:
    Evidence();

    void observe(std::string_view app, int action, double minutes, double hour);
    bool forget(std::string_view app);  // whether it was known

    const Blend& blend() const { return blend_; }
    const Launches& launches() const { return launches_; }
    double since_open(const Outlook& outlook, uint32_t place) const {  // minutes
        return outlook.seen > apps_[place].opened ? outlook.seen - apps_[place].opened : 0;
    }
    const Outlook& now() const { return blend_.now; }   // as of the last event
    void look(const Asked& asked, Outlook& out) const;  // as of what is asked; nothing changes by it

    void statistics(const Outlook& outlook, uint32_t place, float* out) const;  // (kStatistics) of an app
    void moment(const Outlook& outlook, float* out) const;                      // (kMomentValues)

    size_t bytes() const;  // held in memory, about

    void save(Writer& out) const;
    void load(Reader& in);  // into a fresh one; fails with STAP_ERROR_STATE

   private:
    template <typename Archive, typename Self>
    static void fields(Archive& archive, Self& self);
    void check() const;

    enum Kind : uint32_t { kOrder5, kSkip, kSessionStart, kTwoHours, kRecent, kPause, kWaking, kKinds };  // of cue

    struct App {
        uint32_t in_session = 0;
        uint64_t first_usage = 0, session = 0;
        double opened = 0;                                     // minutes of its last open
        double by_usage[kRates] = {}, by_minute[kRates] = {};  // fading counts, as of its last open
        double starts = 0;                                     // sessions it began
        double log_minutes = 0;                                // sum of the logarithms of its stays
        double log_gap_minutes = 0, log_gap_usages = 0;        // sums over its returns
    };

    Blend::Opening open(std::string_view app, double minutes, double hour, const uint64_t (&cues)[kKinds]);
    void close(double minutes, double hour);
    void count_choice(const Blend::Opening& opening, const uint64_t (&cues)[kKinds]);
    void count_launch(bool fresh, uint32_t rank, double pause, const uint64_t (&cues)[kKinds]);
    void count_app(const Blend::Opening& opening, uint64_t usage, double minutes);
    void find_cues(double hour, const Asked& asked, double pause, uint64_t (&cues)[kKinds]) const;
    void look_further(Outlook& out) const;

    Blend blend_;
    std::vector<App> apps_;  // at the blend's places
    Cues others_, recent_;
    Launches launches_;
    double rank_[kRanks], rank_after_[kRankBuckets][kRanks];

    uint64_t sessions_ = 0, session_usages_ = 0;
    double seen_ = 0;        // minutes of the last event
    double last_pause_ = 0;  // before the last launch
    double gap_ = 0, surprise_ = 0, mean_surprise_ = 0, fresh_share_ = 1;
    uint32_t last_rank_ = kRanks - 1;
    bool begins_session_ = true;
    bool was_closed_ = false;  // the current usage, once
};

}  // namespace stap
