#include "person/returns.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace stap {
namespace {

uint32_t day_part(double hour) { return uint32_t(hour) / 3; }

}  // namespace

uint32_t pause_length(double pause) {
    if (!(pause > kAtOnce)) return 0;
    return uint32_t(std::upper_bound(std::begin(kPauses), std::end(kPauses), pause) - kPauses);
}

double log_odds(double chance) {
    const double bounded = std::min(std::max(chance, kSure), 1 - kSure);
    return std::log(bounded / (1 - bounded));
}

void Returns::Count::add(bool returned, double fade) {
    returns = returns * fade + returned;
    launches = launches * fade + 1;
}

Returns::Returns() : whenever{kWheneverStrength * kWheneverUsual, kWheneverStrength} {
    for (uint32_t i = 0; i < kPauseLengths; ++i)
        by_length[i] = {kUsualStrength[i] * kUsualReturns[i], kUsualStrength[i]};
    std::copy(std::begin(kReturnWeights), std::end(kReturnWeights), weights);
}

double Returns::probability(const App& app, double pause, double hour) const {
    double unused[kReturnInputs];
    return inputs(app, pause_length(pause), hour, unused);
}

double Returns::probability_whenever(const App& app) const {
    return app.whenever.share(whenever.returns / whenever.launches, kOwnReturns);
}

void Returns::learn(App& app, double pause, double hour, bool returned) {
    const uint32_t length = pause_length(pause);
    double in[kReturnInputs];
    const double chance = inputs(app, length, hour, in);
    for (uint32_t i = 0; i < kReturnInputs; ++i) weights[i] += kReturnRate * (returned - chance) * in[i];
    by_length[length].add(returned, kReturnFade);
    whenever.add(returned, kReturnFade);
    app.whenever.add(returned, kOwnReturnFade);
    app.paused[length > 0].add(returned, kOwnReturnFade);
    app.by_length[length].add(returned, kOwnReturnFade);
    hours[length > 0][day_part(hour)].add(returned, kOwnReturnFade);
}

// Log odds of the person's habit, and what the app, the app after such a pause, and the hour add to it; the chance
// that they make is returned.
double Returns::inputs(const App& app, uint32_t length, double hour, double (&out)[kReturnInputs]) const {
    const double habit = by_length[length].returns / by_length[length].launches;
    double base = habit;
    if (length > 0) {
        Count pooled;
        for (uint32_t i = 1; i < kPauseLengths; ++i) {
            pooled.returns += by_length[i].returns;
            pooled.launches += by_length[i].launches;
        }
        base = pooled.returns / pooled.launches;
    }
    const double own = app.paused[length > 0].share(habit, kOwnReturns);
    const double finest = app.by_length[length].share(own, kOwnReturns);
    const double hourly = hours[length > 0][day_part(hour)].share(base, kHourlyReturns);
    out[0] = log_odds(habit);
    out[1] = log_odds(own) - out[0];
    out[2] = log_odds(finest) - log_odds(own);
    out[3] = log_odds(hourly) - log_odds(base);
    double score = 0;
    for (uint32_t i = 0; i < kReturnInputs; ++i) score += weights[i] * out[i];
    return 1 / (1 + std::exp(-score));
}

}  // namespace stap
