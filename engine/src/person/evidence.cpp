#include "person/evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stap.h"

namespace stap {
namespace {

constexpr double kPi = 3.141592653589793238462643383279502884;

// The blend: see predictors/{ppm,blend,mixer,hours,contexts}.py, where each number is explained.
constexpr double kStart[kExperts] = {0.12, 0.33, 0.13, 0.08, 0.13, 0.11, 0.07, 0.36, 0.12};
constexpr double kWeightRate = 0.0015, kBiasRate = 0.03, kFloor = 1e-9, kUnseen = 0.02, kFade = 0.98;
constexpr double kStays[] = {0.25, 1.0, 5.0};
constexpr double kSharpness = 8.0, kEven = 2.0;

// What the evidence adds.
constexpr double kUsageHalfLives[kUsageRates] = {3, 8, 24, 70, 200};
constexpr double kMinuteHalfLives[kMinuteRates] = {5, 30, 180, 1440, 10080};
constexpr double kSessionGap = 5.0;  // minutes without an app that end a session
constexpr double kRecentFade = 0.85, kRankFade = 0.995, kRankAfterFade = 0.99;
constexpr double kMostSurprise = 10.0;
constexpr double kTiny = 1e-4;  // of a share whose logarithm is taken

enum Share : uint32_t {
    kFast,
    kSlow,
    kOrder1,
    kOrder2,
    kOrder3,
    kMinutes,
    kDay,
    kHour,
    kStay,
    kOrder5,
    kSkip,
    kBegin,
    kTwoHours,
    kRecent,
    kShares
};
enum Kind : uint32_t { kSequenceKind, kStayKind, kOrder5Kind, kSkipKind, kBeginKind, kTwoHoursKind, kRecentKind };

double decay(double elapsed, double half_life) { return std::exp2(-elapsed / half_life); }

uint32_t rank_bucket(uint32_t rank) { return rank == 0 ? 4 : rank == 1 ? 0 : rank == 2 ? 1 : rank <= 4 ? 2 : 3; }

// Which of ten values of the context says how far back the current app was: 0 for a first-ever one.
uint32_t rank_value(uint32_t rank) { return rank <= 5 ? rank : rank <= 7 ? 6 : rank <= 10 ? 7 : rank <= 14 ? 8 : 9; }

}  // namespace

Evidence::Evidence() : sequence_(kFade), stays_(kFade), others_(kFade), recent_(kRecentFade) {
    std::copy(std::begin(kStart), std::end(kStart), weights_);
    for (uint32_t r = 0; r < kRanks; ++r) {
        rank_[r] = 1.0 / ((r + 1.0) * (r + 1.0));
        for (auto& after : rank_after_) after[r] = rank_[r];
    }
}

void Evidence::observe(std::string_view app, int action, double minutes, double hour) {
    action == STAP_OPEN ? open(app, minutes, hour) : close(app, minutes, hour);
}

void Evidence::open(std::string_view app, double minutes, double hour) {
    // The same app again is the same usage going on, as in merging.
    if (!recency_.empty() && apps_[recency_[0]].name == app) return;
    bool fresh;
    const uint32_t place = place_of(app, fresh);
    if (!fresh && apps_.size() > 1) learn(place);
    surprise_ = fresh ? kMostSurprise : std::min(kMostSurprise, -std::log(std::max(probability_[place], kFloor)));
    App& one = apps_[place];
    const uint32_t rank = fresh ? 0 : one.rank;
    if (usages_ > 0) {
        count_rank(rank);
        count_contexts({place, one.serial});
        fresh_share_ = 0.98 * fresh_share_ + (fresh ? 0.02 : 0);
        mean_surprise_ = 0.95 * mean_surprise_ + 0.05 * surprise_;
    }
    gap_ = usages_ > 0 ? std::max(0.0, minutes - seen_) : 1e4;
    begins_session_ = gap_ > kSessionGap;
    if (begins_session_) {
        ++sessions_;
        session_usages_ = 0;
        ++one.starts;
    }
    ++session_usages_;
    if (usages_ > 0) clock_ += std::max(0.0, minutes - opened_);

    if (fresh) {
        one.first_usage = usages_;
    } else {
        one.log_gap_minutes += std::log1p(std::max(0.0, minutes - one.opened));
        one.log_gap_usages += std::log1p(double(usages_ - one.last_usage));
    }
    for (uint32_t i = 0; i < kUsageRates; ++i)
        one.by_usage[i] = 1 + one.by_usage[i] * decay(double(usages_ - one.last_usage), kUsageHalfLives[i]);
    for (uint32_t i = 0; i < kMinuteRates; ++i)
        one.by_minute[i] = 1 + one.by_minute[i] * decay(clock_ - one.clock, kMinuteHalfLives[i]);
    double near[24], sum = 0;
    for (uint32_t h = 0; h < 24; ++h) sum += near[h] = std::exp(kSharpness * std::cos((h + 0.5 - hour) * kPi / 12));
    for (uint32_t h = 0; h < 24; ++h) one.hours[h] += near[h] * 24 / sum;
    ++one.count;
    one.last_usage = usages_;
    one.opened = minutes;
    one.clock = clock_;
    one.in_session = one.session == sessions_ ? one.in_session + 1 : 1;
    one.session = sessions_;

    if (!fresh) recency_.erase(std::find(recency_.begin(), recency_.end(), place));
    recency_.insert(recency_.begin(), place);
    for (uint32_t r = 0; r < recency_.size(); ++r) apps_[recency_[r]].rank = r;
    std::copy_backward(past_, past_ + 4, past_ + 5);
    past_[0] = {place, one.serial};
    past_size_ = std::min(past_size_ + 1, 5u);
    last_rank_ = rank;
    stay_ = -1;
    opened_ = seen_ = minutes;
    hour_ = hour;
    ++usages_;
    predict();
}

void Evidence::close(std::string_view app, double minutes, double hour) {
    if (recency_.empty() || apps_[recency_[0]].name != app) return;
    App& one = apps_[recency_[0]];
    if (stay_ < 0) one.log_minutes += std::log1p(std::max(0.0, minutes - opened_));
    stay_ = int32_t(std::upper_bound(std::begin(kStays), std::end(kStays), minutes - opened_) - kStays);
    seen_ = std::max(minutes, opened_);
    hour_ = hour;
    predict();
}

// Where an app's statistics are. When all places are taken, a new app gets that of the app unused for longest.
uint32_t Evidence::place_of(std::string_view app, bool& fresh) {
    const auto found = places_.find(std::string(app));
    fresh = found == places_.end();
    if (!fresh) return found->second;
    uint32_t place = uint32_t(apps_.size());
    if (place == kMostApps) {
        place = recency_.back();
        recency_.pop_back();
        places_.erase(apps_[place].name);
    } else {
        apps_.emplace_back();
    }
    apps_[place] = App();
    apps_[place].name = std::string(app);
    apps_[place].serial = ++serials_;
    places_.emplace(app, place);
    return place;
}

// The blend's mixer: a step up the log likelihood of what was chosen.
void Evidence::learn(uint32_t chosen) {
    const size_t n = apps_.size();
    for (uint32_t e = 0; e < kExperts; ++e) {
        const double* row = log_share_.data() + e * n;
        weights_[e] += kWeightRate * (row[chosen] - std::inner_product(row, row + n, probability_.begin(), 0.0));
    }
    for (uint32_t i = 0; i < kPlaces && i + 1 < recency_.size(); ++i) {
        const uint32_t place = recency_[i + 1];
        const double step = kBiasRate * ((place == chosen ? 1.0 : 0.0) - probability_[place]);
        biases_[0][i] += step;
        if (stay_ >= 0) biases_[stay_ + 1][i] += step;
    }
}

void Evidence::count_rank(uint32_t rank) {
    const uint32_t at = std::min(rank, kRanks - 1);
    double* after = rank_after_[rank_bucket(last_rank_)];
    for (uint32_t r = 0; r < kRanks; ++r) {
        rank_[r] *= kRankFade;
        after[r] *= kRankAfterFade;
    }
    ++rank_[at];
    ++after[at];
}

uint64_t Evidence::past_key(uint32_t order) const {
    const uint32_t none = 0;  // no app's serial
    return context_key(order, {past_[0].serial, order > 1 ? past_[1].serial : none, order > 2 ? past_[2].serial : none,
                               order > 3 ? past_[3].serial : none, order > 4 ? past_[4].serial : none});
}

uint64_t Evidence::kind_key(uint32_t kind, uint32_t bucket) const {
    return context_key(8 + kind, {past_[0].serial, bucket});
}

// A new usage begins: every context that held until now was followed by this app.
void Evidence::count_contexts(AppId app) {
    for (uint32_t order = std::min(past_size_, 3u); order >= 1; --order) sequence_.add(past_key(order), app);
    if (stay_ >= 0) stays_.add(kind_key(kStayKind, uint32_t(stay_)), app);
    if (past_size_ >= 5) others_.add(past_key(5), app);
    if (past_size_ >= 2) others_.add(context_key(kSkipKind, {past_[1].serial}), app);
    others_.add(kind_key(kBeginKind, begins_session_), app);
    others_.add(kind_key(kTwoHoursKind, uint32_t(hour_) / 2), app);
    recent_.add(kind_key(kRecentKind, 0), app);
}

// The prior's shares, corrected by what followed this context; the more varied that is, the more prior is left (PPM's
// escape: as many virtual visits go to the prior as there are different successors).
void Evidence::sharpen(const Contexts& contexts, uint64_t key, const double* prior, double* out) const {
    const size_t n = apps_.size();
    const Successors* found = contexts.find(key);
    if (!found) {
        if (out != prior) std::copy(prior, prior + n, out);
        return;
    }
    const double escape = double(found->list.size()) * found->unit, all = escape + found->total;
    for (size_t i = 0; i < n; ++i) out[i] = prior[i] * escape / all;
    for (const Successor& s : found->list)
        if (apps_[s.app.place].serial == s.app.serial) out[s.app.place] += s.weight / all;
}

void Evidence::predict() {
    const size_t n = apps_.size();
    share_.resize(kShares * n);
    probability_.assign(n, 0);
    double* row[kShares];
    for (uint32_t i = 0; i < kShares; ++i) row[i] = share_.data() + i * n;
    double fast = 0, slow = 0;
    std::fill(std::begin(minute_totals_), std::end(minute_totals_), 0);
    for (size_t i = 0; i < n; ++i) {
        const App& app = apps_[i];
        for (uint32_t r : {1u, 2u, 4u})
            minute_totals_[r] += app.by_minute[r] * decay(clock_ - app.clock, kMinuteHalfLives[r]);
        const double usages = double(usages_ - 1 - app.last_usage), minutes = clock_ - app.clock;
        fast += row[kFast][i] = app.by_usage[0] * decay(usages, kUsageHalfLives[0]) + kUnseen;
        slow += row[kSlow][i] =
            app.by_usage[kUsageRates - 1] * decay(usages, kUsageHalfLives[kUsageRates - 1]) + kUnseen;
        minute_totals_[0] += row[kMinutes][i] = app.by_minute[0] * decay(minutes, kMinuteHalfLives[0]) + kUnseen;
        minute_totals_[3] += row[kDay][i] = app.by_minute[3] * decay(minutes, kMinuteHalfLives[3]) + kUnseen;
        row[kHour][i] = (app.hours[uint32_t(hour_) % 24] + kEven) / (app.count + kEven);
    }
    std::vector<double> frequency(n);
    for (size_t i = 0; i < n; ++i) {
        row[kFast][i] /= fast;
        row[kSlow][i] /= slow;
        frequency[i] = (row[kFast][i] + row[kSlow][i]) / 2;
    }
    const double* prior = frequency.data();
    for (uint32_t order = 1; order <= 3; ++order) {
        double* out = row[kOrder1 + order - 1];
        if (order <= past_size_)
            sharpen(sequence_, past_key(order), prior, out);
        else
            std::copy(prior, prior + n, out);
        prior = out;
    }
    sharpen(stays_, kind_key(kStayKind, uint32_t(stay_)), row[kOrder1], row[kStay]);
    sharpen(others_, past_size_ >= 5 ? past_key(5) : 0, row[kOrder3], row[kOrder5]);
    sharpen(others_, past_size_ >= 2 ? context_key(kSkipKind, {past_[1].serial}) : 0, frequency.data(), row[kSkip]);
    sharpen(others_, kind_key(kBeginKind, begins_session_), row[kOrder1], row[kBegin]);
    sharpen(others_, kind_key(kTwoHoursKind, uint32_t(hour_) / 2), row[kOrder1], row[kTwoHours]);
    sharpen(recent_, kind_key(kRecentKind, 0), frequency.data(), row[kRecent]);
    log_share_.resize(kExperts * n);
    for (size_t i = 0; i < kExperts * n; ++i) log_share_[i] = std::log(share_[i]);
    if (n < 2) return;

    std::vector<double>& score = probability_;
    for (uint32_t e = 0; e < kExperts; ++e)
        for (size_t i = 0; i < n; ++i) score[i] += weights_[e] * log_share_[e * n + i];
    for (uint32_t i = 0; i < kPlaces && i + 1 < recency_.size(); ++i)
        score[recency_[i + 1]] += biases_[0][i] + (stay_ >= 0 ? biases_[stay_ + 1][i] : 0);
    const uint32_t current = recency_[0];
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; ++i)
        if (i != current) largest = std::max(largest, score[i]);
    for (size_t i = 0; i < n; ++i) sum += score[i] = i == current ? 0 : std::exp(score[i] - largest) + kFloor;
    for (double& p : probability_) p /= sum;
}

void Evidence::candidates(uint32_t k, std::vector<uint32_t>& places) const {
    places.clear();
    for (uint32_t i = 0; i < apps(); ++i)
        if (i != recency_[0]) places.push_back(i);
    const auto better = [&](uint32_t a, uint32_t b) {
        return probability_[a] != probability_[b] ? probability_[a] > probability_[b] : a < b;
    };
    k = std::min(k, uint32_t(places.size()));
    std::partial_sort(places.begin(), places.begin() + k, places.end(), better);
    places.resize(k);
}

void Evidence::statistics(uint32_t place, float* out) const {
    const size_t n = apps_.size();
    const App& app = apps_[place];
    const auto log_share = [](double share) { return float(std::log(share + kTiny)); };
    const double idle_usages = double(usages_ - 1 - app.last_usage), idle = std::max(0.0, seen_ - app.opened),
                 passed = clock_ - app.clock;
    *out++ = float(std::log(std::max(probability_[place], 1e-7)));
    for (uint32_t e = 0; e < kExperts; ++e) {
        const double all = e == kMinutes ? minute_totals_[0] : e == kDay ? minute_totals_[3] : 1;
        *out++ = float(log_share_[e * n + place] - std::log(all));
    }
    *out++ = log_share(double(app.count) / double(usages_));
    for (uint32_t i = 1; i + 1 < kUsageRates; ++i) {
        const double left = decay(1, kUsageHalfLives[i]), all = (1 - std::pow(left, double(usages_))) / (1 - left);
        *out++ = log_share(app.by_usage[i] * decay(idle_usages, kUsageHalfLives[i]) / all);
    }
    for (uint32_t i : {1u, 2u, 4u})
        *out++ = log_share(app.by_minute[i] * decay(passed, kMinuteHalfLives[i]) / minute_totals_[i]);
    for (uint32_t i = kOrder5; i < kShares; ++i) *out++ = log_share(share_[i * n + place]);
    *out++ = float(std::log(idle + 0.1));
    *out++ = float(std::log1p(idle_usages));
    *out++ = float(std::log1p(app.rank));
    const uint32_t at = std::min(app.rank, kRanks - 1);
    const double crowd = at == kRanks - 1 ? std::max(1.0, double(n) - (kRanks - 1)) : 1;  // who share the last rank
    const double* after = rank_after_[rank_bucket(last_rank_)];
    *out++ = log_share(rank_[at] / std::accumulate(rank_ + 1, rank_ + kRanks, 0.0) / crowd);
    *out++ = log_share(after[at] / std::accumulate(after + 1, after + kRanks, 0.0) / crowd);
    const double returns = app.count - 1.0;
    const double gap_minutes = returns > 0 ? app.log_gap_minutes / returns : 8.0,
                 gap_usages = returns > 0 ? app.log_gap_usages / returns : 5.3;
    *out++ = float(std::log1p(idle) - gap_minutes);
    *out++ = float(std::log1p(idle_usages) - gap_usages);
    *out++ = app.session == sessions_ ? float(std::log1p(app.in_session)) : 0.0f;
    *out++ = log_share((app.starts + 2 * share_[kSlow * n + place]) / (double(sessions_) + 2));
    *out++ = float(std::log1p(app.count));
    *out++ = float(std::log1p(double(usages_ - 1 - app.first_usage)));
    *out++ = float(app.log_minutes / app.count);
    *out++ = float(gap_minutes);
    *out++ = app.count <= 2;
}

void Evidence::context(float* out) const {
    std::fill(out, out + kContextValues, 0.0f);
    if (usages_ == 0) return;
    double entropy = 0, largest = 0;
    for (double p : probability_) {
        if (p > 0) entropy -= p * std::log(p);
        largest = std::max(largest, p);
    }
    const double angle = hour_ * kPi / 12;
    const double values[] = {
        stay_ < 0 ? 1.0 : 0.0,
        std::log(gap_ + 0.1),
        std::log((stay_ < 0 ? 0 : seen_ - opened_) + 0.1),
        std::sin(angle),
        std::cos(angle),
        std::log1p(double(usages_)),
        std::log(double(apps_.size())),
        std::log1p(double(session_usages_)),
        entropy,
        largest > 0 ? std::log(largest) : 0,
        rank_[1] / std::accumulate(rank_ + 1, rank_ + kRanks, 0.0),
        fresh_share_,
        begins_session_ ? 1.0 : 0.0,
        std::log1p(apps_[recency_[0]].count),
        surprise_,
        mean_surprise_,
    };
    for (double value : values) *out++ = float(value);
    out[rank_value(last_rank_)] = 1;
}

size_t Evidence::bytes() const {
    size_t bytes = apps_.capacity() * sizeof(App) +
                   (share_.capacity() + log_share_.capacity() + probability_.capacity()) * sizeof(double);
    for (const Contexts* contexts : {&sequence_, &stays_, &others_, &recent_})
        for (const Contexts::Generation* generation : {&contexts->young, &contexts->old})
            for (const auto& one : *generation)
                bytes += sizeof one + 16 + one.second.list.capacity() * sizeof(Successor);
    return bytes;
}

}  // namespace stap
