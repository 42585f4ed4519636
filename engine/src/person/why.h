// Why an app stands where it does in a ranking: the statistics in groups that mean something to a person, how much each
// group raised the app's score, and a fact that can be told of it. reference/why.py is the same in Python.
#pragma once

#include <cstdint>
#include <string_view>

#include "person/session.h"
#include "stap.h"

namespace stap {

constexpr double kLeastStrength = 0.1;  // nats: what moved a score less is no reason
constexpr uint32_t kMostTold = 50;      // times that a fading count can speak of
// What is told has to sound like a reason. At least so many times, and one in so many:
constexpr uint32_t kLeastTimes = 2, kOneInReturns = 5, kOneInTimes = 10;
constexpr double kRecentMinutes = 180;            // at most
constexpr uint32_t kMostUsed = 10;                // how far down the list of the most used apps
constexpr uint32_t kUsualCount = 3;               // usages before an hour is usual,
constexpr double kUsualLift = 1.25;               // and how much more often than on average over the day
constexpr uint32_t kSpans[] = {24, 12, 6, 3, 1};  // hours: the longest that the latest events reach back

// The strongest first, at most k; how many. Fails with STAP_ERROR_APP where the app is unknown.
size_t session_why(Session& session, std::string_view app, const Asked& asked, size_t k, stap_reason* reasons);

// A fading count as whole numbers: `times` of `of`, which is how often it was added to,
// kMostTold at most.
void told(double count, double total, double fade, uint32_t& times, uint32_t& of);

}  // namespace stap
