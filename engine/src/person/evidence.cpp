#include "person/evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stap.h"

namespace stap {
namespace {

uint32_t rank_bucket(uint32_t rank) { return rank == 0 ? 4 : rank == 1 ? 0 : rank == 2 ? 1 : rank <= 4 ? 2 : 3; }

// Runs of statistics that loops below fill.
static_assert(kStatisticStay == kStatisticFast + kStay, "the experts' statistics are in the experts' order");
static_assert(kStatisticLast30Minutes == kStatisticLast8Usages + kRates, "one statistic for each rate");
static_assert(kMomentRank15 == kMomentFresh + 9, "the ranks are in their order");

// Which value of the moment says how far back the current app was.
uint32_t rank_value(uint32_t rank) {
    return kMomentFresh + (rank <= 5 ? rank : rank <= 7 ? 6 : rank <= 10 ? 7 : rank <= 14 ? 8 : 9);
}

// How often of all choices that were no first-ever app.
double rank_share(const double* counts, uint32_t rank) {
    return counts[rank] / std::accumulate(counts + 1, counts + kRanks, 0.0);
}

}  // namespace

Evidence::Evidence() : recent_(kRecentFade) {
    for (uint32_t r = 0; r < kRanks; ++r) {
        rank_[r] = 1.0 / ((r + 1.0) * (r + 1.0));
        for (auto& after : rank_after_) after[r] = rank_[r];
    }
}

void Evidence::observe(std::string_view app, int action, double minutes, double hour) {
    const bool current = blend_.is_current(app);
    if (action == STAP_OPEN) {
        // The same app again is the same usage going on, as in merging; whether people return is counted apart.
        const double pause = blend_.usages > 0 ? blend_.pause(minutes) : 0;
        const bool launch = blend_.is_launch(app, minutes);
        uint64_t cues[kKinds] = {};  // that held until now
        if (blend_.usages > 0) find_cues(blend_.hour, {Asked::kLaunch, minutes, hour}, pause, cues);
        blend_.launch(app, minutes, hour);
        bool fresh = false;
        uint32_t rank = 0;
        if (current) {
            seen_ = std::max(seen_, minutes);
            blend_.reopen(hour);
        } else {
            const Blend::Opening opening = open(app, minutes, hour, cues);
            fresh = opening.fresh;
            rank = opening.rank;
        }
        if (launch) count_launch(fresh, rank, pause, cues);
    } else if (current) {  // only what is open can be closed
        close(minutes, hour);
    } else {
        return;
    }
    look_further(blend_.now);
}

bool Evidence::forget(std::string_view name) {
    if (blend_.is_current(name)) was_closed_ = true;
    uint32_t place;
    if (!blend_.forget(name, place)) return false;
    apps_.erase(apps_.begin() + place);
    launches_.apps.erase(launches_.apps.begin() + place);
    others_.forget(place);
    recent_.forget(place);
    if (!apps_.empty()) look_further(blend_.now);
    return true;
}

Blend::Opening Evidence::open(std::string_view name, double minutes, double hour, const uint64_t (&cues)[kKinds]) {
    const uint64_t usage = blend_.usages;
    const Blend::Opening opening = blend_.open(name, minutes, hour);
    surprise_ = kMostSurprise;
    if (!opening.fresh) surprise_ = std::min(kMostSurprise, -std::log(std::max(opening.probability, kFloor)));
    if (usage > 0) count_choice(opening, cues);
    gap_ = usage > 0 ? std::max(0.0, minutes - seen_) : 1e4;
    begins_session_ = gap_ > kSessionGap;
    if (begins_session_) {
        ++sessions_;
        session_usages_ = 0;
    }
    ++session_usages_;
    last_rank_ = opening.rank;
    seen_ = minutes;
    was_closed_ = false;
    count_app(opening, usage, minutes);
    return opening;
}

void Evidence::close(double minutes, double hour) {
    App& app = apps_[blend_.recency[0]];
    if (!was_closed_) app.log_minutes += std::log1p(std::max(0.0, minutes - blend_.opened));
    was_closed_ = true;
    seen_ = std::max(minutes, blend_.opened);
    blend_.close(minutes, hour);
}

// Every cue that held until now was followed by this app. (Those of launches are counted by `count_launch`.)
void Evidence::count_choice(const Blend::Opening& opening, const uint64_t (&cues)[kKinds]) {
    for (uint32_t kind = 0; kind < kPause; ++kind) (kind == kRecent ? recent_ : others_).add(cues[kind], opening.app);
    const uint32_t rank = std::min(opening.rank, kRanks - 1);
    double* after = rank_after_[rank_bucket(last_rank_)];
    for (uint32_t r = 0; r < kRanks; ++r) {
        rank_[r] *= kRankFade;
        after[r] *= kRankAfterFade;
    }
    ++rank_[rank];
    ++after[rank];
    fresh_share_ = 0.98 * fresh_share_ + (opening.fresh ? 0.02 : 0);
    mean_surprise_ = 0.95 * mean_surprise_ + 0.05 * surprise_;
}

// The current app was launched, perhaps again.
void Evidence::count_launch(bool fresh, uint32_t rank, double pause, const uint64_t (&cues)[kKinds]) {
    const uint32_t place = blend_.recency[0];
    for (uint32_t kind = kPause; kind < kKinds; ++kind) others_.add(cues[kind], {place, blend_.apps[place].serial});
    launches_.count(place, fresh, rank, pause_length(pause));
    last_pause_ = pause;
}

void Evidence::count_app(const Blend::Opening& opening, uint64_t usage, double minutes) {
    apps_.resize(blend_.apps.size());
    App& app = apps_[opening.app.place];
    if (opening.fresh) {
        app = App();  // perhaps at the place of a forgotten one
        app.first_usage = usage;
    } else {
        app.log_gap_minutes += std::log1p(std::max(0.0, minutes - app.opened));
        app.log_gap_usages += std::log1p(double(opening.usages));
    }
    for (uint32_t i = 0; i < kRates; ++i) {
        app.by_usage[i] = 1 + app.by_usage[i] * decay(double(opening.usages), kUsageHalfLives[i]);
        app.by_minute[i] = 1 + app.by_minute[i] * decay(opening.minutes, kMinuteHalfLives[i]);
    }
    app.starts += begins_session_;
    app.opened = minutes;
    app.in_session = app.session == sessions_ ? app.in_session + 1 : 1;
    app.session = sessions_;
}

// The cues that hold; 0 where nothing is known of one. The pause is known of a launch only.
void Evidence::find_cues(double hour, const Asked& asked, double pause, uint64_t (&cues)[kKinds]) const {
    const bool launch = asked.kind == Asked::kLaunch;
    const uint32_t length = pause_length(pause);
    cues[kOrder5] = blend_.past_cue(kLongest);
    cues[kSkip] = blend_.past_size < 2 ? 0 : cue_key(kSkipCue, {blend_.past[1].serial});
    cues[kSessionStart] = blend_.current_cue(kSessionStartCue, begins_session_);
    cues[kTwoHours] = blend_.current_cue(kTwoHoursCue, uint32_t(hour) / 2);
    cues[kRecent] = blend_.current_cue(kRecentCue, 0);
    cues[kPause] = launch ? blend_.current_cue(kPauseCue, length) : 0;
    cues[kWaking] = launch ? cue_key(kWakingCue, {length, uint32_t(asked.hour) / 3}) : 0;
}

void Evidence::look(const Asked& asked, Outlook& out) const {
    blend_.look(asked, out);
    look_further(out);
}

// What the evidence adds to the blend's outlook.
void Evidence::look_further(Outlook& out) const {
    const size_t n = apps_.size();
    out.seen = out.asked.kind == Asked::kLaunch ? std::max(seen_, out.asked.minutes) : seen_;
    uint64_t cues[kKinds];
    find_cues(out.hour, out.asked, out.pause, cues);
    const double* priors[kKinds] = {out.row(kOrder3),     out.frequency.data(), out.row(kOrder1),    out.row(kOrder1),
                                    out.frequency.data(), out.row(kOrder1),     out.frequency.data()};
    out.cue_share.resize(kKinds * n);
    for (uint32_t kind = 0; kind < kKinds; ++kind)
        blend_.sharpen(kind == kRecent ? recent_ : others_, cues[kind], priors[kind], out.cue_share.data() + kind * n);
    if (&out != &blend_.now) {  // as of the last event, whenever it is asked
        std::copy(std::begin(blend_.now.usage_totals), std::end(blend_.now.usage_totals), out.usage_totals);
        std::copy(std::begin(blend_.now.minute_totals), std::end(blend_.now.minute_totals), out.minute_totals);
        return;
    }
    std::fill(std::begin(out.usage_totals), std::end(out.usage_totals), 0);
    std::fill(std::begin(out.minute_totals), std::end(out.minute_totals), 0);
    for (uint32_t place = 0; place < n; ++place) {
        const Blend::App& app = blend_.apps[place];
        const double idle = double(blend_.usages - 1 - app.last_usage), passed = blend_.clock - app.clock;
        for (uint32_t i = 0; i < kRates; ++i) {
            out.usage_totals[i] += apps_[place].by_usage[i] * decay(idle, kUsageHalfLives[i]);
            out.minute_totals[i] += apps_[place].by_minute[i] * decay(passed, kMinuteHalfLives[i]);
        }
    }
}

void Evidence::statistics(const Outlook& now, uint32_t place, float* out) const {
    const size_t n = apps_.size();
    const App& app = apps_[place];
    const Blend::App& blended = blend_.apps[place];
    const auto log_share = [](double share) { return float(std::log(share + kTiny)); };
    const double usages = double(blend_.usages), count = blended.count, returns = count - 1;
    const double idle_usages = double(blend_.usages - 1 - blended.last_usage);
    const double idle = std::max(0.0, now.seen - app.opened), passed = blend_.clock - blended.clock;
    const double gap_minutes = returns > 0 ? app.log_gap_minutes / returns : 8.0;
    const double gap_usages = returns > 0 ? app.log_gap_usages / returns : 5.3;
    const uint32_t rank = std::min(blended.rank, kRanks - 1);
    const double crowd = rank == kRanks - 1 ? std::max(1.0, double(n) - (kRanks - 1)) : 1;  // who share the last rank

    out[kStatisticBlend] = float(std::log(std::max(now.probability[place], kLeast)));
    for (uint32_t e = 0; e < kExperts; ++e)
        out[kStatisticFast + e] = float(now.log_share[e * n + place] - now.log_totals[e]);
    out[kStatisticShare] = log_share(count / usages);
    for (uint32_t i = 0; i < kRates; ++i) {
        const double by_usage = app.by_usage[i] * decay(idle_usages, kUsageHalfLives[i]);
        const double by_minute = app.by_minute[i] * decay(passed, kMinuteHalfLives[i]);
        out[kStatisticLast8Usages + i] = log_share(by_usage / now.usage_totals[i]);
        out[kStatisticLast30Minutes + i] = log_share(by_minute / now.minute_totals[i]);
    }
    for (uint32_t kind = 0; kind < kPause; ++kind)
        out[kStatisticOrder5 + kind] = log_share(now.cue_share[kind * n + place]);
    out[kStatisticIdleMinutes] = float(std::log(idle + 0.1));
    out[kStatisticIdleUsages] = float(std::log1p(idle_usages));
    out[kStatisticRank] = float(std::log1p(blended.rank));
    out[kStatisticRankShare] = log_share(rank_share(rank_, rank) / crowd);
    out[kStatisticRankShareAfter] = log_share(rank_share(rank_after_[rank_bucket(last_rank_)], rank) / crowd);
    out[kStatisticOverdueMinutes] = float(std::log1p(idle) - gap_minutes);
    out[kStatisticOverdueUsages] = float(std::log1p(idle_usages) - gap_usages);
    out[kStatisticInSession] = app.session == sessions_ ? float(std::log1p(app.in_session)) : 0.0f;
    out[kStatisticSessionStarts] = log_share((app.starts + 2 * now.row(kSlow)[place]) / (double(sessions_) + 2));
    out[kStatisticCount] = float(std::log1p(count));
    out[kStatisticAge] = float(std::log1p(double(blend_.usages - 1 - app.first_usage)));
    out[kStatisticStayLength] = float(app.log_minutes / count);
    out[kStatisticMeanGap] = float(gap_minutes);
    out[kStatisticRare] = count <= 2;
    out[kStatisticPause] = log_share(now.cue_share[kPause * n + place]);
    out[kStatisticWaking] = log_share(now.cue_share[kWaking * n + place]);
    out[kStatisticAgain] = blended.rank == 0 ? float(now.again) : 0.0f;
    const uint32_t length = now.asked.kind == Asked::kLaunch ? pause_length(now.pause) : kPauseLengths;
    for (uint32_t i = 0; i < kLaunchRates; ++i)
        out[kStatisticLast12Launches + i] = log_share(launches_.share(place, i));
    out[kStatisticWakingShare] = log_share(launches_.waking_share(place));
    out[kStatisticLaunchRank] = log_share(launches_.rank_share(rank, length) / crowd);
    out[kStatisticWoke] = launches_.woke(place);
}

void Evidence::moment(const Outlook& now, float* out) const {
    std::fill(out, out + kMomentValues, 0.0f);
    if (blend_.apps.empty()) return;
    double entropy = 0, largest = 0;
    for (double p : now.probability) {
        if (p > 0) entropy -= p * std::log(p);
        largest = std::max(largest, p);
    }
    const bool is_open = blend_.stay < 0;
    const double angle = now.hour * kPi / 12, stay = is_open ? 0 : seen_ - blend_.opened;
    out[kMomentOpen] = is_open;
    out[kMomentGap] = float(std::log(gap_ + 0.1));
    out[kMomentStay] = float(std::log(stay + 0.1));
    out[kMomentSinHour] = float(std::sin(angle));
    out[kMomentCosHour] = float(std::cos(angle));
    out[kMomentUsages] = float(std::log1p(double(blend_.usages)));
    out[kMomentApps] = float(std::log(double(blend_.apps.size())));
    out[kMomentSessionUsages] = float(std::log1p(double(session_usages_)));
    out[kMomentEntropy] = float(entropy);
    out[kMomentConfidence] = largest > 0 ? float(std::log(largest)) : 0;
    out[kMomentAlternation] = float(rank_share(rank_, 1));
    out[kMomentFreshShare] = float(fresh_share_);
    out[kMomentSessionStart] = begins_session_;
    out[kMomentCurrentCount] = float(std::log1p(blend_.apps[blend_.recency[0]].count));
    out[kMomentSurprise] = float(surprise_);
    out[kMomentMeanSurprise] = float(mean_surprise_);
    out[kMomentAsked] = now.asked.kind != Asked::kOther;
    out[kMomentLaunching] = now.asked.kind == Asked::kLaunch;
    out[kMomentPause] = float(std::log(now.pause + 0.1));
    out[kMomentPaused] = now.pause > kAtOnce;
    out[kMomentReturn] = float(now.again);
    out[kMomentReturned] = launches_.returned;
    out[kMomentSinceWaking] = float(std::log1p(double(launches_.since_waking)));
    out[kMomentLastPause] = float(std::log(last_pause_ + 0.1));
    out[rank_value(last_rank_)] = 1;
}

size_t Evidence::bytes() const {
    const size_t shares = blend_.now.cue_share.capacity() * sizeof(double);
    return blend_.bytes() + apps_.capacity() * sizeof(App) + shares + others_.bytes() + recent_.bytes();
}

}  // namespace stap
