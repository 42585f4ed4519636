// What a person launches, the app used last included: how often each app lately, how often after a pause, and how far
// back it was. (The blend and the other statistics count usages, where the same app again is the same usage going on.)
// reference/launches.py is the same in Python.
#pragma once

#include <cstdint>
#include <vector>

#include "person/returns.h"
#include "person/statistics.h"

namespace stap {

constexpr uint32_t kLaunchRates = 2;
constexpr double kLaunchHalfLives[kLaunchRates] = {12, 150};  // launches
constexpr double kWakingHalfLife = 25;                        // launches after a pause
constexpr double kLaunchRankFade = 0.99, kLaunchRankStrength = 4;

struct Launches {
    struct App {
        uint64_t launch = 0, waking = 0;                   // the numbers of its last ones
        double by_launch[kLaunchRates] = {}, wakings = 0;  // fading counts, as of these
    };

    std::vector<App> apps;                    // at the blend's places
    uint64_t launches = 0, wakings = 0;       // so far; wakings: after a pause
    uint64_t since_waking = 0;                // launches since the last one after a pause
    double ranks[kPauseLengths + 1][kRanks];  // how far back, by the length of the pause; and over all
    bool returned = false;                    // by the last launch

    Launches();

    // A launch of the app at a place, which was so far back; `fresh`: it was never launched before.
    void count(uint32_t place, bool fresh, uint32_t rank, uint32_t length);

    double share(uint32_t place, uint32_t rate) const;        // of the latest launches
    double waking_share(uint32_t place) const;                // of those after a pause
    double rank_share(uint32_t rank, uint32_t length) const;  // length kPauseLengths: whatever it is
    bool woke(uint32_t place) const { return wakings > 0 && apps[place].waking == wakings; }  // after the last pause
};

}  // namespace stap
