// Will the app that was used last be opened again? By the pause, this person's habit, the app's own, and the hour.
// predictors/again.py is the same in Python and explains each number.
#pragma once

#include <cstdint>

namespace stap {

constexpr double kAtOnce = 1.0;  // minutes: after a longer pause somebody took the phone up again
constexpr double kPauses[] = {kAtOnce, 5.0, 30.0, 240.0};
constexpr uint32_t kPauseLengths = 5, kDayParts = 8, kReturnInputs = 4;
constexpr double kUsualReturns[kPauseLengths] = {0.02, 0.50, 0.42, 0.37, 0.25};
constexpr double kUsualStrength[kPauseLengths] = {40, 4, 4, 4, 4};
constexpr double kWheneverUsual = 0.2, kWheneverStrength = 8;
constexpr double kReturnFade = 0.99, kOwnReturnFade = 0.98;
constexpr double kOwnReturns = 3, kHourlyReturns = 10;
constexpr double kReturnWeights[kReturnInputs] = {1.0, 0.7, 0.3, 0.3};
constexpr double kReturnRate = 0.01;
constexpr double kSure = 1e-3;  // no chance is nearer to 0 or 1

uint32_t pause_length(double pause);  // 0: at once; 1 to 4: ever longer pauses
double log_odds(double chance);

struct Returns {
    struct Count {
        double returns = 0, launches = 0;
        void add(bool returned, double fade);
        double share(double coarser, double worth) const { return (returns + worth * coarser) / (launches + worth); }
    };
    struct App {
        Count whenever, paused[2], by_length[kPauseLengths];
    };

    Count by_length[kPauseLengths], whenever, hours[2][kDayParts];
    double weights[kReturnInputs];

    Returns();
    double probability(const App& app, double pause, double hour) const;
    double probability_whenever(const App& app) const;
    void learn(App& app, double pause, double hour, bool returned);

   private:
    double inputs(const App& app, uint32_t length, double hour, double (&out)[kReturnInputs]) const;
};

}  // namespace stap
