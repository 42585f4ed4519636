#include "person/blend.h"

#include <algorithm>
#include <numeric>

#include "person/bounds.h"

namespace stap {

Blend::Blend() { std::copy(std::begin(kStartWeights), std::end(kStartWeights), weights_); }

Blend::Opening Blend::open(std::string_view name, double minutes, double hour) {
    bool fresh;
    const uint32_t place = place_of(name, fresh);
    App& app = apps_[place];
    Opening opening = {{place, app.serial}, fresh, 0, 0, 0, 0};
    if (!fresh) {
        learn(place);
        opening.rank = app.rank;
        opening.probability = probability_[place];
    }
    // Every cue that held until now was followed by this app.
    for (uint32_t order = kOrders; order >= 1; --order) sequence_.add(sequence_cues_[order - 1], opening.app);
    stays_.add(stay_cue_, opening.app);

    if (usages_ > 0) clock_ += std::max(0.0, minutes - opened_);
    opening.usages = usages_ - app.last_usage;
    opening.minutes = clock_ - app.clock;
    app.fast = 1 + app.fast * decay(double(opening.usages), kFastHalfLife);
    app.slow = 1 + app.slow * decay(double(opening.usages), kSlowHalfLife);
    app.minutes = 1 + app.minutes * decay(opening.minutes, kMinutesHalfLife);
    app.day = 1 + app.day * decay(opening.minutes, kDayHalfLife);
    count_hour(app, hour);
    ++app.count;
    app.last_usage = usages_;
    app.clock = clock_;

    touch(place, fresh);
    stay_ = -1;
    opened_ = minutes;
    hour_ = hour;
    ++usages_;
    predict();
    return opening;
}

void Blend::close(double minutes, double hour) {
    stay_ = int32_t(std::upper_bound(std::begin(kStays), std::end(kStays), minutes - opened_) - kStays);
    hour_ = hour;
    predict();
}

// Where an app's counts are. When all places are taken, a new app gets that of the app unused for longest.
uint32_t Blend::place_of(std::string_view name, bool& fresh) {
    const auto known = places_.find(std::string(name));
    fresh = known == places_.end();
    if (!fresh) return known->second;
    uint32_t place = apps();
    if (place == kMostApps) {
        place = recency_.back();
        recency_.pop_back();
        places_.erase(apps_[place].name);
    } else {
        apps_.emplace_back();
    }
    apps_[place] = App();
    apps_[place].name = std::string(name);
    apps_[place].serial = ++serials_;
    places_.emplace(name, place);
    return place;
}

// The mixer: a step up the log likelihood of what was chosen.
void Blend::learn(uint32_t chosen) {
    const size_t n = apps_.size();
    for (uint32_t e = 0; e < kExperts; ++e) {
        const double* row = log_share_.data() + e * n;
        weights_[e] += kWeightRate * (row[chosen] - std::inner_product(row, row + n, probability_.begin(), 0.0));
    }
    for (uint32_t i = 0; i < kBiased && i + 1 < recency_.size(); ++i) {
        const uint32_t place = recency_[i + 1];
        const double step = kBiasRate * ((place == chosen ? 1.0 : 0.0) - probability_[place]);
        biases_[0][i] += step;
        if (stay_ >= 0) biases_[stay_ + 1][i] += step;
    }
}

void Blend::count_hour(App& app, double hour) {
    double near[24], sum = 0;
    for (uint32_t h = 0; h < 24; ++h) {
        near[h] = std::exp(kSharpness * std::cos((h + 0.5 - hour) * kPi / 12));
        sum += near[h];
    }
    for (uint32_t h = 0; h < 24; ++h) app.hours[h] += near[h] * 24 / sum;
}

// The app is the latest now.
void Blend::touch(uint32_t place, bool fresh) {
    if (!fresh) recency_.erase(std::find(recency_.begin(), recency_.end(), place));
    recency_.insert(recency_.begin(), place);
    for (uint32_t r = 0; r < recency_.size(); ++r) apps_[recency_[r]].rank = r;
    std::copy_backward(past_, past_ + kLongest - 1, past_ + kLongest);
    past_[0] = {place, apps_[place].serial};
    past_size_ = std::min(past_size_ + 1, kLongest);
}

uint64_t Blend::past_cue(uint32_t order) const {
    if (past_size_ < order) return 0;
    const auto serial = [&](uint32_t i) { return i < order ? past_[i].serial : 0; };  // 0: no app's
    return cue_key(order, {serial(0), serial(1), serial(2), serial(3), serial(4)});
}

// The prior's shares, corrected by what followed this cue; the more varied that is, the more prior is left (PPM's
// escape: as many virtual visits go to the prior as there are different successors).
void Blend::sharpen(const Cues& cues, uint64_t cue, const double* prior, double* out) const {
    const size_t n = apps_.size();
    const Successors* successors = cues.find(cue);
    if (!successors) {
        std::copy(prior, prior + n, out);
        return;
    }
    const double escape = double(successors->list.size()) * successors->unit, total = escape + successors->total;
    for (size_t i = 0; i < n; ++i) out[i] = prior[i] * escape / total;
    for (const Successor& s : successors->list)
        if (apps_[s.app.place].serial == s.app.serial) out[s.app.place] += s.weight / total;
}

void Blend::predict() {
    const size_t n = apps_.size();
    share_.resize(kExperts * n);
    frequency_.resize(n);
    for (size_t i = 0; i < n; ++i) {
        const App& app = apps_[i];
        const double usages = double(usages_ - 1 - app.last_usage), minutes = clock_ - app.clock;
        row(kFast)[i] = app.fast * decay(usages, kFastHalfLife) + kUnseen;
        row(kSlow)[i] = app.slow * decay(usages, kSlowHalfLife) + kUnseen;
        row(kMinutes)[i] = app.minutes * decay(minutes, kMinutesHalfLife) + kUnseen;
        row(kDay)[i] = app.day * decay(minutes, kDayHalfLife) + kUnseen;
        row(kHour)[i] = (app.hours[uint32_t(hour_) % 24] + kEven) / (app.count + kEven);
    }
    const auto total = [&](uint32_t expert) { return std::accumulate(row(expert), row(expert) + n, 0.0); };
    const double fast = total(kFast), slow = total(kSlow);
    for (size_t i = 0; i < n; ++i) {
        row(kFast)[i] /= fast;
        row(kSlow)[i] /= slow;
        frequency_[i] = (row(kFast)[i] + row(kSlow)[i]) / 2;
    }
    log_totals_[kMinutes] = std::log(total(kMinutes));
    log_totals_[kDay] = std::log(total(kDay));
    const double* prior = frequency();
    for (uint32_t order = 1; order <= kOrders; ++order) {
        sequence_cues_[order - 1] = past_cue(order);
        sharpen(sequence_, sequence_cues_[order - 1], prior, row(kOrder1 + order - 1));
        prior = row(kOrder1 + order - 1);
    }
    stay_cue_ = stay_ < 0 ? 0 : current_cue(kStayCue, uint32_t(stay_));
    sharpen(stays_, stay_cue_, row(kOrder1), row(kStay));
    log_share_.resize(kExperts * n);
    for (size_t i = 0; i < kExperts * n; ++i) log_share_[i] = std::log(share_[i]);
    mix();
}

// p = softmax(weights . log experts + a bias for the latest apps), without the current app.
void Blend::mix() {
    const size_t n = apps_.size();
    probability_.assign(n, 0);
    if (n < 2) return;
    std::vector<double>& score = probability_;
    for (uint32_t e = 0; e < kExperts; ++e)
        for (size_t i = 0; i < n; ++i) score[i] += weights_[e] * log_share_[e * n + i];
    for (uint32_t i = 0; i < kBiased && i + 1 < recency_.size(); ++i)
        score[recency_[i + 1]] += biases_[0][i] + (stay_ >= 0 ? biases_[stay_ + 1][i] : 0);
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; ++i)
        if (i != current()) largest = std::max(largest, score[i]);
    for (size_t i = 0; i < n; ++i) {
        score[i] = i == current() ? 0 : std::exp(score[i] - largest) + kFloor;
        sum += score[i];
    }
    for (double& p : probability_) p /= sum;
}

double Blend::log_share(Expert expert, uint32_t place) const {
    return log_share_[expert * apps_.size() + place] - log_totals_[expert];
}

void Blend::candidates(uint32_t k, std::vector<uint32_t>& places) const {
    places.clear();
    for (uint32_t i = 0; i < apps(); ++i)
        if (i != current()) places.push_back(i);
    const auto better = [&](uint32_t a, uint32_t b) {
        return probability_[a] != probability_[b] ? probability_[a] > probability_[b] : a < b;
    };
    k = std::min(k, uint32_t(places.size()));
    std::partial_sort(places.begin(), places.begin() + k, places.end(), better);
    places.resize(k);
}

size_t Blend::bytes() const {
    const size_t doubles = share_.capacity() + log_share_.capacity() + frequency_.capacity() + probability_.capacity();
    return apps_.capacity() * sizeof(App) + doubles * sizeof(double) + sequence_.bytes() + stays_.bytes();
}

}  // namespace stap
