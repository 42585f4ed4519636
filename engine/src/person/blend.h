// The `blend` predictor: how often, how lately, when and after what each app was opened are its experts, mixed with
// weights that the person's own choices correct. predictors/blend.py is the same in Python, where each number is
// explained.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "person/cues.h"
#include "person/returns.h"

namespace stap {

enum Expert : uint32_t { kFast, kSlow, kOrder1, kOrder2, kOrder3, kMinutes, kDay, kHour, kStay, kExperts };

// What a cue is made of: 1 to kLongest for so many latest apps, or one of these. Snapshots hold what follows from them.
enum CueKind : uint32_t {
    kSkipCue = 3,
    kStayCue = 9,
    kSessionStartCue = 12,
    kTwoHoursCue = 13,
    kRecentCue = 14,
    kPauseCue = 15,
    kWakingCue = 16
};

constexpr uint32_t kOrders = 3;                              // experts on the latest apps
constexpr uint32_t kLongest = 5;                             // apps in the longest cue
constexpr uint32_t kBiased = 4;                              // how many of the latest apps have a bias of their own
constexpr uint32_t kBiasSets = 5;                            // always, and for each of four lengths of stay
constexpr double kFastHalfLife = 3, kSlowHalfLife = 200;     // usages
constexpr double kMinutesHalfLife = 5, kDayHalfLife = 1440;  // minutes
constexpr double kStartWeights[kExperts] = {0.12, 0.33, 0.13, 0.08, 0.13, 0.11, 0.07, 0.36, 0.12};
constexpr double kWeightRate = 0.0015, kBiasRate = 0.03;
constexpr double kFloor = 1e-9;   // no app is impossible
constexpr double kUnseen = 0.02;  // of a usage, for every app
constexpr double kStays[] = {0.25, 1.0, 5.0};
constexpr double kSharpness = 8.0, kEven = 2.0;
constexpr double kPi = 3.141592653589793238462643383279502884;

inline double decay(double elapsed, double half_life) {
    const double times = elapsed / half_life;
    return times < 1100 ? std::exp2(-times) : 0;  // what is nothing anyway takes ten times as long to compute
}

// What is asked: which other app comes next; which app, the current one included, whenever it comes; or which one is
// launched right now, at a time.
struct Asked {
    enum Kind : uint32_t { kOther, kWhenever, kLaunch };
    Kind kind = kOther;
    double minutes = 0, hour = 0;  // of a launch
};

// What the counts say as of the last event, or of the time that is asked about. (The last three are the evidence's.)
struct Outlook {
    Asked asked;
    double clock = 0, hour = 0;            // then
    double pause = 0;                      // minutes since the current app was left; of a launch only
    double again = 0;                      // log odds that the current app comes again; 0 where it cannot
    std::vector<double> share, log_share;  // (kExperts, apps)
    std::vector<double> frequency;         // (apps) the mean of the fast and the slow share
    std::vector<double> probability;       // (apps) of being next
    double log_totals[kExperts] = {};      // of shares that do not sum to 1 and should
    double seen = 0;                       // minutes up to which nothing is missed
    std::vector<double> cue_share;         // (kinds of cue, apps)
    double usage_totals[3] = {};           // of its counts that fade by usages
    double minute_totals[3] = {};          // of those that fade by minutes

    const double* row(uint32_t expert) const { return share.data() + expert * frequency.size(); }
    double* row(uint32_t expert) { return share.data() + expert * frequency.size(); }
};

struct Blend {
    struct App {
        std::string name;
        uint32_t serial = 0, rank = 0, count = 0;  // rank of recency: 0 the current app, 1 the one before, ...
        uint64_t last_usage = 0;
        double clock = 0;                                 // of its last open
        double fast = 0, slow = 0, minutes = 0, day = 0;  // fading counts, as of its last open
        double hours[24] = {};  // a usage's footprint on the clock; 1 is a usage spread evenly
        Returns::App returns;
    };

    // An app that was opened, and what was known of it just before.
    struct Opening {
        AppId app;
        bool fresh;          // nothing: it is new, or was forgotten
        uint32_t rank;       // 0 if fresh
        double probability;  // 0 if fresh
        uint64_t usages;     // since its last
        double minutes;      // since its last, by the clock
    };

    std::vector<App> apps;  // each at its place
    std::unordered_map<std::string, uint32_t> places;
    std::vector<uint32_t> recency;  // places, latest first
    uint32_t serials = 0;
    Cues sequence, stays;
    double weights[kExperts], biases[kBiasSets][kBiased] = {};
    uint64_t usages = 0;
    AppId past[kLongest] = {};  // the latest apps, latest first
    uint32_t past_size = 0;
    int32_t stay = -1;  // the bucket of the current usage's length, -1 while it is open
    double opened = 0;  // minutes of the last open
    double hour = 0;    // of the last event
    double clock = 0;   // minutes that passed, never backwards
    Returns returns;
    double left = 0;         // minutes of the current app's last event
    bool is_closed = false;  // the current app

    // What follows from all this after every event.
    uint64_t sequence_cues[kOrders] = {}, stay_cue = 0;  // that hold now
    Outlook now;

    Blend();

    // An open of the current app is a launch if it was closed, or left for more than a moment.
    bool is_launch(std::string_view app, double minutes) const {
        return !is_current(app) || is_closed || pause(minutes) > kAtOnce;
    }
    bool is_current(std::string_view app) const { return !recency.empty() && apps[recency[0]].name == app; }
    void launch(std::string_view app, double minutes, double hour);   // any app: does the person return?
    Opening open(std::string_view app, double minutes, double hour);  // another app than the current one
    void reopen(double hour);                                         // the current one
    void close(double minutes, double hour);
    bool forget(std::string_view app, uint32_t& place);  // its place is returned, and those behind move up
    void predict();                                      // all that follows, into `now`
    void look(const Asked& asked, Outlook& out) const;   // the same as of the time that is asked about

    // The k likeliest, best first; the current app only where that is asked.
    void candidates(const Outlook& outlook, uint32_t k, std::vector<uint32_t>& out) const;
    size_t bytes() const;  // held in memory, about
    double pause(double minutes) const { return minutes > left ? minutes - left : 0; }

    // The cue of so many latest apps, none while there are fewer; that of the current app and what else holds.
    uint64_t past_cue(uint32_t order) const;
    uint64_t current_cue(CueKind kind, uint32_t bucket) const { return cue_key(kind, {past[0].serial, bucket}); }
    void sharpen(const Cues& cues, uint64_t cue, const double* prior, double* out) const;

   private:
    uint32_t place_of(std::string_view app, bool& fresh);
    void learn(uint32_t chosen);
    void touch(uint32_t place, bool fresh);
    void look_at_usages(Outlook& out) const;
    void mix(Outlook& out) const;
};

}  // namespace stap
