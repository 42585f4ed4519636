// What the evidence says: a row of statistics for every app, and a few values of the moment, each by its name.
// Python has the same names in the same order; a test holds them together.
#pragma once

#include <cstdint>

namespace stap {

constexpr uint32_t kRanks = 16;  // of recency that are told apart; the last is "further back"

// clang-format off
#define STAP_STATISTICS(NAME)                                                                                      \
    NAME(Blend, "blend") NAME(Fast, "fast") NAME(Slow, "slow") NAME(Order1, "order 1") NAME(Order2, "order 2")     \
    NAME(Order3, "order 3") NAME(Minutes, "minutes") NAME(Day, "day") NAME(Hour, "hour") NAME(Stay, "stay")        \
    NAME(Share, "share") NAME(Last8Usages, "last 8 usages") NAME(Last24Usages, "last 24 usages")                   \
    NAME(Last70Usages, "last 70 usages") NAME(Last30Minutes, "last 30 minutes")                                    \
    NAME(Last180Minutes, "last 180 minutes") NAME(Last10080Minutes, "last 10080 minutes") NAME(Order5, "order 5")  \
    NAME(Skip, "skip") NAME(SessionStart, "session start") NAME(TwoHours, "two hours") NAME(Recent, "recent") \
    NAME(IdleMinutes, "idle minutes") NAME(IdleUsages, "idle usages") NAME(Rank, "rank")                           \
    NAME(RankShare, "rank share") NAME(RankShareAfter, "rank share after") NAME(OverdueMinutes, "overdue minutes") \
    NAME(OverdueUsages, "overdue usages") NAME(InSession, "in session") NAME(SessionStarts, "session starts")      \
    NAME(Count, "count") NAME(Age, "age") NAME(StayLength, "stay length") NAME(MeanGap, "mean gap")                \
    NAME(Rare, "rare") NAME(Pause, "pause") NAME(Waking, "waking") NAME(Again, "again")                     \
    NAME(Last12Launches, "last 12 launches") NAME(Last150Launches, "last 150 launches")                           \
    NAME(WakingShare, "waking share") NAME(LaunchRank, "launch rank") NAME(Woke, "woke")

#define STAP_MOMENT(NAME)                                                                                      \
    NAME(Open, "open") NAME(Gap, "gap") NAME(Stay, "stay") NAME(SinHour, "sin hour") NAME(CosHour, "cos hour") \
    NAME(Usages, "usages") NAME(Apps, "apps") NAME(SessionUsages, "session usages") NAME(Entropy, "entropy")   \
    NAME(Confidence, "confidence") NAME(Alternation, "alternation") NAME(FreshShare, "fresh share")            \
    NAME(SessionStart, "session start") NAME(CurrentCount, "current count") NAME(Surprise, "surprise")         \
    NAME(MeanSurprise, "mean surprise") NAME(Fresh, "fresh") NAME(Rank1, "rank 1") NAME(Rank2, "rank 2")       \
    NAME(Rank3, "rank 3") NAME(Rank4, "rank 4") NAME(Rank5, "rank 5") NAME(Rank6, "rank 6-7")                  \
    NAME(Rank8, "rank 8-10") NAME(Rank11, "rank 11-14") NAME(Rank15, "rank 15+")                                 \
    NAME(Asked, "asked") NAME(Launching, "launching") NAME(Pause, "pause") NAME(Paused, "paused")                  \
    NAME(Return, "return") NAME(Returned, "returned") NAME(SinceWaking, "since waking") NAME(LastPause, "last pause")
// clang-format on

#define STAP_ENUMERATOR(name, text) kStatistic##name,
enum Statistic : uint32_t { STAP_STATISTICS(STAP_ENUMERATOR) kStatistics };
#undef STAP_ENUMERATOR
#define STAP_ENUMERATOR(name, text) kMoment##name,
enum MomentValue : uint32_t { STAP_MOMENT(STAP_ENUMERATOR) kMomentValues };
#undef STAP_ENUMERATOR

// A model that knows no launches has the lists without what they added at the end.
constexpr uint32_t kStatisticsBefore = kStatisticPause, kMomentValuesBefore = kMomentAsked;

#define STAP_TEXT(name, text) text,
constexpr const char* kStatisticNames[] = {STAP_STATISTICS(STAP_TEXT)};
constexpr const char* kMomentNames[] = {STAP_MOMENT(STAP_TEXT)};
#undef STAP_TEXT

}  // namespace stap
