// Names of the statistics, and numbers that Python has to agree with (tests/engine/test_constants.py compares them).
#include "bind.h"
#include "files/config.h"
#include "files/model.h"
#include "person/bounds.h"
#include "person/evidence.h"
#include "person/last_word.h"
#include "person/statistics.h"
#include "person/why.h"
#include "stap.h"

namespace nb = nanobind;
using namespace stap;

namespace {

template <typename T, size_t N>
nb::tuple tuple(const T (&values)[N]) {
    nb::list list;
    for (const T& value : values) list.append(value);
    return nb::tuple(list);
}

nb::dict limits() {
    nb::dict out;
    for (const WholeSetting& setting : kWholeSettings) out[setting.name] = nb::make_tuple(setting.least, setting.most);
    for (const RealSetting& setting : kRealSettings) out[setting.name] = nb::make_tuple(setting.above, setting.below);
    return out;
}

nb::dict constants() {
    nb::dict out;
    // How much is remembered and told apart.
    out["MOST_APPS"] = kMostApps;
    out["MOST_APP_BYTES"] = int(STAP_MOST_APP_BYTES);
    out["CANDIDATES"] = kMostCandidates;
    out["COMPARED"] = kCompared;
    out["GENERATION"] = kGeneration;
    out["SUCCESSORS"] = kSuccessors;
    out["RANKS"] = kRanks;
    // The blend.
    out["FADE"] = kFade;
    out["ORDERS"] = kOrders;
    out["PLACES"] = kBiased;
    out["WEIGHTS"] = tuple(kStartWeights);
    out["WEIGHT_RATE"] = kWeightRate;
    out["BIAS_RATE"] = kBiasRate;
    out["FLOOR"] = kFloor;
    out["UNSEEN"] = kUnseen;
    out["STAYS"] = tuple(kStays);
    out["SHARPNESS"] = kSharpness;
    out["EVEN"] = kEven;
    // The other statistics.
    const double *usages = kUsageHalfLives, *minutes = kMinuteHalfLives;
    out["USAGE_HALF_LIVES"] = nb::make_tuple(kFastHalfLife, usages[0], usages[1], usages[2], kSlowHalfLife);
    out["MINUTE_HALF_LIVES"] = nb::make_tuple(kMinutesHalfLife, minutes[0], minutes[1], kDayHalfLife, minutes[2]);
    out["LONGEST"] = kLongest;
    out["SESSION_GAP"] = kSessionGap;
    out["RECENT_FADE"] = kRecentFade;
    out["RANK_FADE"] = kRankFade;
    out["RANK_AFTER_FADE"] = kRankAfterFade;
    out["MOST_SURPRISE"] = kMostSurprise;
    out["TINY"] = kTiny;
    out["LEAST"] = kLeast;
    // Returns.
    out["PAUSES"] = tuple(kPauses);
    out["USUAL"] = tuple(kUsualReturns);
    out["STRENGTH"] = tuple(kUsualStrength);
    out["WHENEVER_USUAL"] = kWheneverUsual;
    out["WHENEVER_STRENGTH"] = kWheneverStrength;
    out["RETURN_FADE"] = kReturnFade;
    out["OWN_FADE"] = kOwnReturnFade;
    out["OWN"] = kOwnReturns;
    out["HOURLY"] = kHourlyReturns;
    out["START"] = tuple(kReturnWeights);
    out["RATE"] = kReturnRate;
    out["SURE"] = kSure;
    // Launches.
    out["LAUNCH_HALF_LIVES"] = tuple(kLaunchHalfLives);
    out["WAKING_HALF_LIFE"] = kWakingHalfLife;
    out["LAUNCH_RANK_FADE"] = kLaunchRankFade;
    out["LAUNCH_RANK_STRENGTH"] = kLaunchRankStrength;
    // The last word.
    out["WORD_RATE"] = kWordRate;
    out["WORD_BIAS_RATE"] = nb::make_tuple(kWordBiasRate, kWordBiasLaunches, kLeastWordBiasRate);
    out["WEIGHT_BOUNDS"] = nb::make_tuple(kLeastWeight, kMostWeight);
    out["MOST_BIAS"] = kMostBias;
    out["NOTICE_AGES"] = tuple(kNoticeAges);
    out["NOTICE_START"] = tuple(kNoticeStart);
    out["NOTICE_RATES"] = nb::make_tuple(kNoticeRate, kOwnNoticeRate);
    out["MOST_NOTICE"] = nb::make_tuple(kMostNotice, kMostOwnNotice);
    // Reasons.
    out["REASONS"] = int(STAP_REASON_KINDS);
    out["LEAST_STRENGTH"] = kLeastStrength;
    out["MOST_TOLD"] = kMostTold;
    out["LEAST_TIMES"] = nb::make_tuple(kLeastTimes, kOneInReturns, kOneInTimes);
    out["RECENT_MINUTES"] = kRecentMinutes;
    out["MOST_USED"] = kMostUsed;
    out["USUAL_HOUR"] = nb::make_tuple(kUsualCount, kUsualLift);
    out["SPANS"] = tuple(kSpans);
    // The model.
    out["LIMITS"] = limits();
    out["CLIP"] = kClip;
    out["CANDIDATE_HEAD"] = kCandidateHead;
    out["ORDINAL_BASE"] = kOrdinalBase;
    return out;
}

}  // namespace

void bind_constants(nb::module_& m) {
    m.attr("STATISTICS") = tuple(kStatisticNames);
    m.attr("MOMENT") = tuple(kMomentNames);
    m.attr("CONSTANTS") = constants();
}
