#include "person/why.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "failure.h"

namespace stap {
namespace {

constexpr int kNothing = -1;  // not a group of its own: no sentence would say it

// What each statistic means for a person; the mix of the blend is taken apart into its experts.
// clang-format off
constexpr int kAgain = STAP_REASON_AGAIN, kBefore = STAP_REASON_BEFORE, kHourly = STAP_REASON_HOUR,
              kRecently = STAP_REASON_RECENT, kLately = STAP_REASON_LATELY, kOften = STAP_REASON_OFTEN,
              kAfterPause = STAP_REASON_WAKING;
constexpr int kMeaning[kStatistics] = {
    kNothing, kRecently, kOften, kBefore, kBefore, kBefore,    // blend; fast, slow, orders 1 to 3,
    kRecently, kLately, kHourly, kBefore,                      // minutes, day, hour, stay
    kOften, kLately, kLately, kLately,                         // share; last 8, 24, 70 usages
    kLately, kLately, kOften,                                  // last 30, 180, 10080 minutes
    kBefore, kBefore, kBefore, kBefore, kBefore,               // order 5, skip, session start, two hours, recent
    kRecently, kRecently, kRecently, kRecently, kRecently,     // idle minutes and usages, rank, rank share, and after
    kRecently, kRecently, kLately, kAfterPause,                // overdue minutes and usages, in session, session starts
    kOften, kOften, kNothing, kOften, kOften,                  // count, age, stay length, mean gap, rare
    kBefore, kAfterPause, kAgain,                              // pause, waking, again
    kLately, kOften, kAfterPause, kRecently, kAfterPause};     // last 12, 150 launches, waking share, launch rank, woke
// clang-format on

constexpr stap_reason_kind kGroups[] = {STAP_REASON_AGAIN,  STAP_REASON_BEFORE, STAP_REASON_HOUR,  STAP_REASON_RECENT,
                                        STAP_REASON_LATELY, STAP_REASON_OFTEN,  STAP_REASON_WAKING};

// What is asked about one app. `scored`: as of when the head that answers sees it.
struct Question {
    const Session& session;
    uint32_t place;
    const Outlook &asked, &scored;

    const Blend& blend() const { return session.evidence->blend(); }
    const Blend::App& app() const { return blend().apps[place]; }
    bool is_current() const { return app().rank == 0; }
    bool paused() const { return asked.pause > kAtOnce; }

    // Of the current app, everything that says how recent it is speaks of coming again.
    int meaning(uint32_t statistic) const {
        const int kind = kMeaning[statistic];
        if (!is_current()) return kind;
        const bool again = statistic == kStatisticBlend || statistic == kStatisticPause || kind == STAP_REASON_RECENT;
        return again ? STAP_REASON_AGAIN : kind;
    }
    stap_reason_kind recency() const { return is_current() ? STAP_REASON_AGAIN : STAP_REASON_RECENT; }
};

// ---- How much each group moved the score

// What the blend's mix of log shares would lose without a group's experts, and without the bias of the latest apps.
double moved_blend(const Question& q, stap_reason_kind kind, const float* row, const float* mean) {
    const Blend& blend = q.blend();
    double moved = 0;
    for (uint32_t e = 0; e < kExperts; ++e)
        if (q.meaning(kStatisticFast + e) == kind)
            moved += blend.weights[e] * (double(row[kStatisticFast + e]) - mean[kStatisticFast + e]);
    const uint32_t rank = q.app().rank;
    if (kind == STAP_REASON_RECENT && rank >= 1 && rank <= kBiased)
        moved += blend.biases[0][rank - 1] + (blend.stay >= 0 ? blend.biases[blend.stay + 1][rank - 1] : 0);
    return moved;
}

// The row as it would be if this group said of the app what it says on average.
void neutral(const Question& q, stap_reason_kind kind, const float* row, const float* mean, float* out) {
    std::copy_n(row, kStatistics, out);
    if (!q.is_current()) out[kStatisticBlend] = float(row[kStatisticBlend] - moved_blend(q, kind, row, mean));
    for (uint32_t i = 0; i < kStatistics; ++i)
        if (q.meaning(i) == kind) out[i] = mean[i];
}

// The mean over the candidates that a head weighs.
void average(const Evidence& evidence, const Outlook& outlook, const std::vector<uint32_t>& places, float* mean) {
    double sum[kStatistics] = {};
    const size_t n = std::min<size_t>(places.size(), kMostCandidates);
    for (size_t i = 0; i < n; ++i) {
        float row[kStatistics];
        evidence.statistics(outlook, places[i], row);
        for (uint32_t k = 0; k < kStatistics; ++k) sum[k] += row[k];
    }
    for (uint32_t k = 0; k < kStatistics; ++k) mean[k] = float(sum[k] / double(n));
}

// The last word's: how much the model and the blend are believed, the bias of the latest apps, and what the app's
// notification adds.
struct Believed {
    double model = 1, blend = 0, bias = 0, notice = 0;

    Believed(const Question& q, LastWord& word) {
        if (q.asked.asked.kind == Asked::kOther || !word.speaks) return;
        model = word.weights[0];
        blend = word.weights[1];
        if (q.app().rank < kBiased) bias = word.biases[q.paused()][q.app().rank];
        std::vector<double> score = {0};
        word.notices.look(q.blend(), q.asked);
        word.notices.add({q.place}, score);
        notice = score[0];
    }
};

// (kinds) in nats. The ranking of a head that knows of no launches gets the current app from the habit of returning.
void measure(Session& session, const Question& q, FusionState* head, double* strength) {
    const Evidence& evidence = *session.evidence;
    const Believed believed(q, session.word);
    strength[STAP_REASON_NOTIFIED] = believed.notice;
    float row[kStatistics], mean[kStatistics], changed[kStatistics];
    evidence.statistics(q.scored, q.place, row);
    if (!head) {
        std::vector<uint32_t> places;
        q.blend().candidates(q.scored, kMostCandidates, places);
        average(evidence, q.scored, places, mean);
        const double moved = double(row[kStatisticBlend]) - mean[kStatisticBlend];
        strength[STAP_REASON_AGAIN] = (believed.model + believed.blend) * moved + believed.bias;
        return;
    }
    const std::vector<uint32_t>& places = head->candidates();
    average(evidence, q.scored, places, mean);
    const size_t at = size_t(std::find(places.begin(), places.end(), q.place) - places.begin());
    const uint32_t rank = q.app().rank;
    const auto score = [&](const float* statistics, uint32_t of_rank) {
        return head->score_with(*session.kernels, at, statistics, of_rank, session.state.whole.get());
    };
    const double whole = score(row, rank);
    for (const stap_reason_kind kind : kGroups) {
        const bool recency = kind == q.recency();
        neutral(q, kind, row, mean, changed);
        strength[kind] = believed.model * (whole - score(changed, recency ? kRanks - 1 : rank)) +
                         believed.blend * (double(row[kStatisticBlend]) - changed[kStatisticBlend]) +
                         (recency ? believed.bias : 0);
    }
}

// ---- What can be told of it. Each says whether there is something to tell.

bool are_many(const stap_reason& reason) {
    return reason.count >= kLeastTimes && reason.count * kOneInTimes >= reason.of;
}

bool tell_again(const Question& q, stap_reason& reason) {
    if (!q.is_current()) return false;
    const Returns::App& returns = q.app().returns;
    const bool whenever = q.asked.asked.kind == Asked::kWhenever;
    const Returns::Count& count = whenever ? returns.whenever : returns.by_length[pause_length(q.asked.pause)];
    told(count.returns, count.launches, kOwnReturnFade, reason.count, reason.of);
    if (reason.count == 0 || reason.count * kOneInReturns < reason.of)
        reason.count = reason.of = 0;  // all there is to tell is that it was used last
    else if (q.paused())
        reason.kind = STAP_REASON_AFTER_PAUSE;
    return true;
}

bool tell_before(const Question& q, stap_reason& reason) {
    const Successors* after = q.blend().sequence.find(q.blend().sequence_cues[0]);
    if (!after) return false;
    for (const Successor& s : after->list)
        if (s.app.place == q.place && s.app.serial == q.app().serial)
            told(s.weight / after->unit, after->total / after->unit, kFade, reason.count, reason.of);
    const std::string& current = q.blend().apps[q.blend().recency[0]].name;
    reason.app = current.data();
    reason.length = current.size();
    return are_many(reason);
}

bool tell_hour(const Question& q, stap_reason& reason) {
    reason.hour = int32_t(std::lround(q.scored.hour)) % 24;
    return q.app().count >= kUsualCount && q.scored.row(kHour)[q.place] >= kUsualLift;
}

bool tell_recent(const Question& q, stap_reason& reason) {
    const double minutes = q.session.evidence->since_open(q.asked, q.place);
    reason.count = uint32_t(std::min(minutes, kRecentMinutes));
    return minutes < kRecentMinutes;
}

// Opens in the last day, or in as many hours as the latest events reach back.
bool tell_lately(const Question& q, stap_reason& reason) {
    const Session& s = q.session;
    const auto held = s.phi.index.find(q.app().name);
    if (held == s.phi.index.end()) return false;
    const auto event = [&](size_t age) -> const Event& { return s.ring[(s.steps - 1 - age) % s.schedule.context]; };
    const double now = q.asked.asked.kind == Asked::kLaunch ? q.asked.asked.minutes : event(0).minutes;
    const double oldest = s.steps > s.ring.size() ? event(s.ring.size() - 1).minutes : -INFINITY;
    const auto reached = [&](uint32_t hours) { return now - 60.0 * hours >= oldest; };
    const uint32_t* span = std::find_if(std::begin(kSpans), std::end(kSpans), reached);
    if (span == std::end(kSpans)) return false;
    reason.of = *span;
    uint64_t since = 0;  // the step from which on the index is this app's
    for (const Session::Hiding& hiding : s.hidings)
        if (hiding.app == held->second) since = hiding.step;
    for (size_t age = 0;
         age < s.ring.size() && s.steps - 1 - age >= since && event(age).minutes > now - 60.0 * reason.of; ++age) {
        if (event(age).app != held->second) continue;
        reason.count += event(age).action == STAP_OPEN;
        if (event(age).recycled) break;  // before that, it was another app's index
    }
    return reason.count >= kLeastTimes;
}

bool tell_often(const Question& q, stap_reason& reason) {
    const std::vector<Blend::App>& apps = q.blend().apps;
    const auto oftener = [&](const Blend::App& other) { return other.count > q.app().count; };
    reason.count = 1 + uint32_t(std::count_if(apps.begin(), apps.end(), oftener));
    reason.of = uint32_t(apps.size());
    return reason.count <= kMostUsed && 2 * reason.count <= reason.of + 1;
}

bool tell_waking(const Question& q, stap_reason& reason) {
    const Launches& launches = q.session.evidence->launches();
    reason.of = uint32_t(std::min<uint64_t>(launches.wakings, kMostTold));
    reason.count = uint32_t(std::lround(launches.waking_share(q.place) * reason.of));
    return q.paused() && are_many(reason);
}

bool tell_notified(const Question& q, stap_reason& reason) {
    for (const Notices::App& app : q.session.word.notices.apps)
        if (app.name == q.app().name) reason.count = uint32_t(std::max(0.0, q.asked.seen - app.minutes));
    return true;
}

bool tell(const Question& q, stap_reason& reason) {
    switch (reason.kind) {
        case STAP_REASON_AGAIN: return tell_again(q, reason);
        case STAP_REASON_BEFORE: return tell_before(q, reason);
        case STAP_REASON_HOUR: return tell_hour(q, reason);
        case STAP_REASON_RECENT: return tell_recent(q, reason);
        case STAP_REASON_LATELY: return tell_lately(q, reason);
        case STAP_REASON_OFTEN: return tell_often(q, reason);
        case STAP_REASON_WAKING: return tell_waking(q, reason);
        case STAP_REASON_NOTIFIED: return tell_notified(q, reason);
        default: return false;
    }
}

}  // namespace

void told(double count, double total, double fade, uint32_t& times, uint32_t& of) {
    const double left = std::max(1 - (1 - fade) * total, std::pow(fade, kMostTold));  // fade^n, after n additions
    of = uint32_t(std::lround(std::log(left) / std::log(fade)));
    times = total > 0 ? std::min(of, uint32_t(std::lround(count / total * of))) : 0;
}

size_t session_why(Session& s, std::string_view app, const Asked& asked, size_t k, stap_reason* reasons) {
    if (!s.evidence) {
        if (s.phi.index.count(std::string(app)) == 0) fail(STAP_ERROR_APP, "no such app");
        return 0;  // a pure model keeps no statistics
    }
    const Evidence& evidence = *s.evidence;
    const auto known = evidence.blend().places.find(std::string(app));
    if (known == evidence.blend().places.end()) fail(STAP_ERROR_APP, "no such app");
    const bool is_current = evidence.blend().recency[0] == known->second, other = asked.kind == Asked::kOther;
    if (is_current && other) return 0;  // it is no other app than itself
    evidence.look(asked, s.outlook);
    FusionState* head = nullptr;
    const Outlook* scored = &s.outlook;
    if (s.launch && !other) {
        head = s.launch.get();
        head->score(*s.kernels, evidence, s.outlook, s.phi, nullptr, nullptr, s.state.whole.get());
    } else if (!is_current) {
        head = s.fusion.get();
        scored = &evidence.now();
        const float* logits = s.logits();
        head->score(*s.kernels, evidence, *scored, s.phi, s.state.hidden.get(), logits, s.state.whole.get());
        s.fused = s.steps;
    }
    const Question question{s, known->second, s.outlook, *scored};
    double strength[STAP_REASON_KINDS] = {};
    measure(s, question, head, strength);

    std::vector<stap_reason> found;
    for (int kind = 0; kind < STAP_REASON_KINDS; ++kind) {
        stap_reason reason = {stap_reason_kind(kind), float(strength[kind]), 0, 0, -1, nullptr, 0};
        if (strength[kind] >= kLeastStrength && tell(question, reason)) found.push_back(reason);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const stap_reason& a, const stap_reason& b) { return a.strength > b.strength; });
    const size_t count = std::min(k, found.size());
    std::copy_n(found.begin(), count, reasons);
    return count;
}

}  // namespace stap
