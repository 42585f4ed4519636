#include "person/blend.h"

#include <algorithm>
#include <numeric>

#include "person/bounds.h"

namespace stap {
namespace {

// A usage's footprint on the clock.
void count_hour(double (&hours)[24], double hour) {
    double near[24], sum = 0;
    for (uint32_t h = 0; h < 24; ++h) {
        near[h] = std::exp(kSharpness * std::cos((h + 0.5 - hour) * kPi / 12));
        sum += near[h];
    }
    for (uint32_t h = 0; h < 24; ++h) hours[h] += near[h] * 24 / sum;
}

}  // namespace

Blend::Blend() { std::copy(std::begin(kStartWeights), std::end(kStartWeights), weights); }

void Blend::launch(std::string_view name, double minutes, double at_hour) {
    if (!recency.empty() && is_launch(name, minutes))
        returns.learn(apps[recency[0]].returns, pause(minutes), at_hour, is_current(name));
    left = minutes;
    is_closed = false;
}

Blend::Opening Blend::open(std::string_view name, double minutes, double at_hour) {
    bool fresh;
    const uint32_t place = place_of(name, fresh);
    App& app = apps[place];
    if (!fresh) learn(place);
    if (usages > 0) clock += std::max(0.0, minutes - opened);
    const Opening opening = {
        {place, app.serial}, fresh, app.rank, fresh ? 0 : now.probability[place], usages - app.last_usage,
        clock - app.clock};
    // Every cue that held until now was followed by this app.
    for (uint32_t order = kOrders; order >= 1; --order) sequence.add(sequence_cues[order - 1], opening.app);
    stays.add(stay_cue, opening.app);

    app.fast = 1 + app.fast * decay(double(opening.usages), kFastHalfLife);
    app.slow = 1 + app.slow * decay(double(opening.usages), kSlowHalfLife);
    app.minutes = 1 + app.minutes * decay(opening.minutes, kMinutesHalfLife);
    app.day = 1 + app.day * decay(opening.minutes, kDayHalfLife);
    count_hour(app.hours, at_hour);
    ++app.count;
    app.last_usage = usages;
    app.clock = clock;

    touch(place, fresh);
    stay = -1;
    opened = minutes;
    hour = at_hour;
    ++usages;
    predict();
    return opening;
}

void Blend::reopen(double at_hour) {
    stay = -1;
    hour = at_hour;
    predict();
}

void Blend::close(double minutes, double at_hour) {
    left = std::max(left, minutes);
    is_closed = true;
    stay = int32_t(std::upper_bound(std::begin(kStays), std::end(kStays), minutes - opened) - kStays);
    hour = at_hour;
    predict();
}

// What is left is as if the app had never been: if it was the current one, the one before it is.
bool Blend::forget(std::string_view name, uint32_t& place) {
    const auto known = places.find(std::string(name));
    if (known == places.end()) return false;
    place = known->second;
    const uint32_t serial = apps[place].serial;
    if (is_current(name)) {
        is_closed = true;
        stay = -1;
    }
    places.erase(known);
    apps.erase(apps.begin() + place);
    for (auto& entry : places) entry.second -= entry.second > place;
    recency.erase(std::find(recency.begin(), recency.end(), place));
    for (uint32_t r = 0; r < recency.size(); ++r) {
        recency[r] -= recency[r] > place;
        apps[recency[r]].rank = r;
    }
    AppId* end = std::remove_if(past, past + past_size, [&](const AppId& app) { return app.serial == serial; });
    past_size = uint32_t(end - past);
    std::fill(end, past + kLongest, AppId{});
    for (AppId& app : past) app.place -= app.place > place;
    if (past_size == 0 && !apps.empty()) past[past_size++] = {recency[0], apps[recency[0]].serial};
    sequence.forget(place);
    stays.forget(place);
    if (apps.empty())
        now = Outlook();
    else
        predict();
    return true;
}

// Where an app's counts are. When all places are taken, a new app gets that of the app unused for longest.
uint32_t Blend::place_of(std::string_view name, bool& fresh) {
    const auto known = places.find(std::string(name));
    fresh = known == places.end();
    if (!fresh) return known->second;
    uint32_t place = uint32_t(apps.size());
    if (place == kMostApps) {
        place = recency.back();
        recency.pop_back();
        places.erase(apps[place].name);
    } else {
        apps.emplace_back();
    }
    apps[place] = App();
    apps[place].name = std::string(name);
    apps[place].serial = ++serials;
    places.emplace(name, place);
    return place;
}

// The mixer: a step up the log likelihood of what was chosen.
void Blend::learn(uint32_t chosen) {
    const size_t n = apps.size();
    for (uint32_t e = 0; e < kExperts; ++e) {
        const double* logs = now.log_share.data() + e * n;
        weights[e] += kWeightRate * (logs[chosen] - std::inner_product(logs, logs + n, now.probability.begin(), 0.0));
    }
    for (uint32_t i = 0; i < kBiased && i + 1 < recency.size(); ++i) {
        const uint32_t place = recency[i + 1];
        const double step = kBiasRate * ((place == chosen ? 1.0 : 0.0) - now.probability[place]);
        biases[0][i] += step;
        if (stay >= 0) biases[stay + 1][i] += step;
    }
}

// The app is the latest now.
void Blend::touch(uint32_t place, bool fresh) {
    if (!fresh) recency.erase(std::find(recency.begin(), recency.end(), place));
    recency.insert(recency.begin(), place);
    for (uint32_t r = 0; r < recency.size(); ++r) apps[recency[r]].rank = r;
    std::copy_backward(past, past + kLongest - 1, past + kLongest);
    past[0] = {place, apps[place].serial};
    past_size = std::min(past_size + 1, kLongest);
}

uint64_t Blend::past_cue(uint32_t order) const {
    if (past_size < order) return 0;
    const auto serial = [&](uint32_t i) { return i < order ? past[i].serial : 0; };  // 0: no app's
    return cue_key(order, {serial(0), serial(1), serial(2), serial(3), serial(4)});
}

// The prior's shares, corrected by what followed this cue; the more varied that is, the more prior is left (PPM's
// escape: as many virtual visits go to the prior as there are different successors).
void Blend::sharpen(const Cues& cues, uint64_t cue, const double* prior, double* out) const {
    const size_t n = apps.size();
    const Successors* successors = cues.find(cue);
    if (!successors) {
        std::copy(prior, prior + n, out);
        return;
    }
    const double escape = double(successors->list.size()) * successors->unit, total = escape + successors->total;
    for (size_t i = 0; i < n; ++i) out[i] = prior[i] * escape / total;
    for (const Successor& s : successors->list)
        if (apps[s.app.place].serial == s.app.serial) out[s.app.place] += s.weight / total;
}

namespace {

double total(const Outlook& out, Expert expert) {
    return std::accumulate(out.row(expert), out.row(expert) + out.frequency.size(), 0.0);
}

void take_logs(Outlook& out, Expert expert) {
    const size_t n = out.frequency.size();
    for (size_t i = 0; i < n; ++i) out.log_share[expert * n + i] = std::log(out.row(expert)[i]);
}

}  // namespace

void Blend::predict() {
    for (uint32_t order = 1; order <= kOrders; ++order) sequence_cues[order - 1] = past_cue(order);
    stay_cue = stay < 0 ? 0 : current_cue(kStayCue, uint32_t(stay));
    look({}, now);
}

void Blend::look(const Asked& asked, Outlook& out) const {
    const size_t n = apps.size();
    const bool at_a_time = asked.kind == Asked::kLaunch;
    out.asked = asked;
    out.clock = clock + (at_a_time ? std::max(0.0, asked.minutes - opened) : 0);
    out.hour = at_a_time ? asked.hour : hour;
    out.pause = at_a_time ? pause(asked.minutes) : 0;
    if (&out == &now) {
        look_at_usages(out);
    } else {  // what does not depend on the moment is as it is now
        out.share = now.share;
        out.log_share = now.log_share;
        out.frequency = now.frequency;
    }
    for (size_t i = 0; i < n; ++i) {
        const double passed = out.clock - apps[i].clock;
        out.row(kMinutes)[i] = apps[i].minutes * decay(passed, kMinutesHalfLife) + kUnseen;
        out.row(kDay)[i] = apps[i].day * decay(passed, kDayHalfLife) + kUnseen;
        out.row(kHour)[i] = (apps[i].hours[uint32_t(out.hour) % 24] + kEven) / (apps[i].count + kEven);
    }
    for (const Expert expert : {kMinutes, kDay, kHour}) take_logs(out, expert);
    out.log_totals[kMinutes] = std::log(total(out, kMinutes));
    out.log_totals[kDay] = std::log(total(out, kDay));
    mix(out);
}

// What counts by usages alone, whenever it is asked.
void Blend::look_at_usages(Outlook& out) const {
    const size_t n = apps.size();
    out.share.resize(kExperts * n);
    out.log_share.resize(kExperts * n);
    out.frequency.resize(n);
    for (size_t i = 0; i < n; ++i) {
        const double idle = double(usages - 1 - apps[i].last_usage);
        out.row(kFast)[i] = apps[i].fast * decay(idle, kFastHalfLife) + kUnseen;
        out.row(kSlow)[i] = apps[i].slow * decay(idle, kSlowHalfLife) + kUnseen;
    }
    const double fast = total(out, kFast), slow = total(out, kSlow);
    for (size_t i = 0; i < n; ++i) {
        out.row(kFast)[i] /= fast;
        out.row(kSlow)[i] /= slow;
        out.frequency[i] = (out.row(kFast)[i] + out.row(kSlow)[i]) / 2;
    }
    const double* prior = out.frequency.data();
    for (uint32_t order = 1; order <= kOrders; ++order) {
        sharpen(sequence, sequence_cues[order - 1], prior, out.row(kOrder1 + order - 1));
        prior = out.row(kOrder1 + order - 1);
    }
    sharpen(stays, stay_cue, out.row(kOrder1), out.row(kStay));
    for (const Expert expert : {kFast, kSlow, kOrder1, kOrder2, kOrder3, kStay}) take_logs(out, expert);
}

// p = softmax(weights . log experts + a bias for the latest apps), without the current app; and where that may come
// again, its share and what it leaves to the others.
void Blend::mix(Outlook& out) const {
    const size_t n = apps.size(), current = recency[0];
    std::vector<double>& score = out.probability;
    score.assign(n, 0);
    if (n > 1) {
        for (uint32_t e = 0; e < kExperts; ++e)
            for (size_t i = 0; i < n; ++i) score[i] += weights[e] * out.log_share[e * n + i];
        for (uint32_t i = 0; i < kBiased && i + 1 < recency.size(); ++i)
            score[recency[i + 1]] += biases[0][i] + (stay >= 0 ? biases[stay + 1][i] : 0);
        double largest = -INFINITY, sum = 0;
        for (size_t i = 0; i < n; ++i)
            if (i != current) largest = std::max(largest, score[i]);
        for (size_t i = 0; i < n; ++i) {
            score[i] = i == current ? 0 : std::exp(score[i] - largest) + kFloor;
            sum += score[i];
        }
        for (double& p : score) p /= sum;
    }
    out.again = 0;
    if (out.asked.kind == Asked::kOther) return;
    const Returns::App& app = apps[current].returns;
    const double again = out.asked.kind == Asked::kLaunch ? returns.probability(app, out.pause, out.hour)
                                                          : returns.probability_whenever(app);
    out.again = log_odds(again);
    for (double& p : score) p *= 1 - again;
    score[current] = n > 1 ? again : 1;
}

void Blend::candidates(const Outlook& outlook, uint32_t k, std::vector<uint32_t>& out) const {
    out.clear();
    const std::vector<double>& probability = outlook.probability;
    for (uint32_t place = 0; place < apps.size(); ++place)
        if (place != recency[0] || outlook.asked.kind != Asked::kOther) out.push_back(place);
    const auto better = [&](uint32_t a, uint32_t b) {
        return probability[a] != probability[b] ? probability[a] > probability[b] : a < b;
    };
    k = std::min(k, uint32_t(out.size()));
    std::nth_element(out.begin(), out.begin() + k, out.end(), better);
    std::sort(out.begin(), out.begin() + k, better);
    out.resize(k);
}

size_t Blend::bytes() const {
    const size_t doubles =
        now.share.capacity() + now.log_share.capacity() + now.frequency.capacity() + now.probability.capacity();
    return apps.capacity() * sizeof(App) + doubles * sizeof(double) + sequence.bytes() + stays.bytes();
}

}  // namespace stap
