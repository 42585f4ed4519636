#include "person/launches.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stap {
namespace {

double left(uint64_t elapsed, double half_life) { return std::exp2(-double(elapsed) / half_life); }

// A fading count as a share of what it could be: of n events, the latest of which weighs 1.
double faded_share(double count, uint64_t age, uint64_t n, double half_life) {
    if (n == 0) return 0;
    return count * left(age, half_life) * (1 - left(1, half_life)) / (1 - left(n, half_life));
}

}  // namespace

// Everybody begins as people usually are: with the usual returns, and the nearer an app the likelier.
Launches::Launches() {
    double others = 0;
    for (uint32_t r = 1; r < kRanks; ++r) others += 1.0 / (r * r);
    for (uint32_t length = 0; length <= kPauseLengths; ++length) {
        const double returns = length < kPauseLengths ? kUsualReturns[length] : kWheneverUsual;
        ranks[length][0] = kLaunchRankStrength * returns;
        for (uint32_t r = 1; r < kRanks; ++r) ranks[length][r] = kLaunchRankStrength * (1 - returns) / (r * r) / others;
    }
}

void Launches::count(uint32_t place, bool fresh, uint32_t rank, uint32_t length) {
    if (place >= apps.size()) apps.resize(place + 1);
    if (fresh) apps[place] = App();  // perhaps at the place of a forgotten one
    App& app = apps[place];
    for (uint32_t i = 0; i < kLaunchRates; ++i)
        app.by_launch[i] = 1 + app.by_launch[i] * left(launches + 1 - app.launch, kLaunchHalfLives[i]);
    app.launch = ++launches;
    ++since_waking;
    if (length > 0) {
        app.wakings = 1 + app.wakings * left(wakings + 1 - app.waking, kWakingHalfLife);
        app.waking = ++wakings;
        since_waking = 0;
    }
    returned = !fresh && rank == 0;
    if (fresh) return;
    for (double* counts : {ranks[length], ranks[kPauseLengths]}) {
        for (uint32_t r = 0; r < kRanks; ++r) counts[r] *= kLaunchRankFade;
        ++counts[std::min(rank, kRanks - 1)];
    }
}

double Launches::share(uint32_t place, uint32_t rate) const {
    const App& app = apps[place];
    return faded_share(app.by_launch[rate], launches - app.launch, launches, kLaunchHalfLives[rate]);
}

double Launches::waking_share(uint32_t place) const {
    return faded_share(apps[place].wakings, wakings - apps[place].waking, wakings, kWakingHalfLife);
}

double Launches::rank_share(uint32_t rank, uint32_t length) const {
    return ranks[length][rank] / std::accumulate(ranks[length], ranks[length] + kRanks, 0.0);
}

}  // namespace stap
