#include "person/session.h"

#include <algorithm>
#include <cmath>

#include "failure.h"

namespace stap {
namespace {

constexpr uint32_t kPace = 4;  // events that a step of a stage's end takes for the passive cache when nobody else does
constexpr uint32_t kBacklog = 256;  // rolling cannot skip events, so they may not pile up

}  // namespace

Session::Session(std::shared_ptr<const Model> model_, const Kernels& kernels_, Schedule schedule_, stap_dtype cache,
                 Phi phi_)
    : model(std::move(model_)), kernels(&kernels_), schedule(schedule_), phi(std::move(phi_)),
      pool(BlockLayout(*model, cache, schedule.context)), state(*model) {
    if (model->config.mixed_keys)
        for (Cache& each : caches)
            each.last = buffer_counted<float>(size_t(model->config.layers) * model->sizes.attention, state.bytes);
    if (model->config.pointing_heads)
        for (Cache& each : caches) each.last_pointing = buffer_counted<float>(model->sizes.pointing, state.bytes);
    if (!model->config.evidence) return;
    evidence = std::make_unique<Evidence>();
    const auto head = [&](const Fusion& weights) {
        return std::make_unique<FusionState>(weights, model->config.candidate_heads);
    };
    fusion = head(*model->weights.fusion);
    if (model->config.launches) launch = head(*model->weights.launch);
}

uint32_t Session::pending(uint32_t cache) const {
    return receives(cache) ? uint32_t(steps - caches[cache].first - caches[cache].taken) : 0;
}

void Session::observe(std::string_view app, int action, double minutes, double hour) {
    if (action == STAP_OPEN)
        orphaned = false;
    else if (orphaned && phi.index.find(std::string(app)) == phi.index.end())
        return;
    if (evidence && action == STAP_OPEN) {
        learn_launch(app, minutes, hour);
        word.notices.open(app);
    }
    bool recycled = false;
    const uint16_t index = phi.use(std::string(app), steps, recycled);
    Event event = {minutes, std::fmin(float(hour), std::nextafter(24.0f, 0.0f)), index, uint8_t(action), recycled};
    if (evidence) {
        evidence->observe(app, action, minutes, hour);
        evidence->moment(evidence->now(), event.moment);
    }
    if (ring.size() < schedule.context)
        ring.push_back(event);
    else
        ring[steps % schedule.context] = event;
    ++steps;
    while (!hidings.empty() && hidings[0].step + schedule.context < steps) hidings.erase(hidings.begin());
    begin_stages();
    keep_pace();
}

// Of the app in front it is no news, and a model without evidence has no use for any.
void Session::notify(std::string_view app, double minutes) {
    if (!evidence) return;
    const Blend& blend = evidence->blend();
    if (blend.is_current(app) && !blend.is_closed) return;
    word.notices.notify(app, minutes);
}

// Its events stay in the ring, under an index that means nothing: those that followed them have seen them.
void Session::forget(std::string_view app) {
    const std::string name(app);
    const auto held = phi.index.find(name);
    const bool notified = word.notices.forget(app), counted = evidence && evidence->forget(app);
    if (held != phi.index.end()) {
        orphaned = orphaned || is_front(held->second);
        hidings.push_back({steps, held->second});
        phi.forget(name);
    } else if (!notified && !counted) {
        fail(STAP_ERROR_APP, "no such app");
    }
    fused = 0;
}

bool Session::is_front(uint16_t index) const {
    const Event& last = ring[(steps - 1) % schedule.context];
    return last.action == STAP_OPEN && last.app == index;
}

bool Session::hides_at(uint64_t step) const {
    const auto at = [&](const Hiding& hiding) { return hiding.step == step; };
    return std::any_of(hidings.begin(), hidings.end(), at);
}

// A cache whose first event has moved is cleared: what it had not taken yet is never computed.
void Session::begin_stages() {
    for (uint32_t c = 0; c < 2; ++c) {
        const uint64_t first = schedule.first(c, steps - 1);
        if (first != kNotYet && first != caches[c].first) caches[c].clear(first, pool);
    }
}

// The passive cache is ready when its stage begins, also for a caller that ranks but never calls catch_up.
void Session::keep_pace() {
    if (schedule.strategy == STAP_ROLLING && pending(0) >= std::min(kBacklog, schedule.context)) take(0, kMostBatch);
    if (schedule.strategy != STAP_ISWI || ranked == 0 || steps - ranked > schedule.half()) return;
    const uint32_t passive = 1 - active(), left = uint32_t(schedule.half() - (steps - 1) % schedule.half());
    if (pending(passive) <= kPace * (left - 1)) return;
    for (uint32_t due = std::max(kPace, (pending(passive) + left - 1) / left); due > 0 && pending(passive) > 0;)
        due -= take(passive, due);
}

// Let a cache take its next events, as one batch; how many is returned. An event with a recycled index begins a batch:
// those before it still attend to what the index meant then, it and those after it do not, whenever this is computed.
uint32_t Session::take(uint32_t c, uint32_t most) {
    Cache& cache = caches[c];
    uint32_t n = std::min({pending(c), most, kMostBatch});
    if (n == 0) return 0;
    if (schedule.strategy == STAP_ROLLING && cache.taken + n > schedule.context) {
        n = 1;  // each event loses its own oldest one
        cache.drop(schedule.dropped(cache.taken + 1) - cache.dropped, pool);
    }
    Event events[kMostBatch];
    for (uint32_t i = 0; i < n; ++i) {
        events[i] = ring[(cache.first + cache.taken + i) % schedule.context];
        if (i > 0 && (events[i].recycled || hides_at(cache.first + cache.taken + i))) n = i;
    }
    if (events[0].recycled) cache.hide(events[0].app, pool);
    for (const Hiding& hiding : hidings)
        if (hiding.step == cache.first + cache.taken) cache.hide(hiding.app, pool);
    forward(*model, *kernels, state, pool, cache, events, n);
    if (c == active() && pending(c) == 0) {
        forward_head(*model, *kernels, state, pool, cache, n - 1);
        answered = steps;
    }
    return n;
}

const float* Session::logits() {
    if (steps == 0) fail(STAP_ERROR_EMPTY, "nothing observed yet");
    while (take(active(), kMostBatch) > 0) {
    }
    ranked = steps;
    return state.logits.get();
}

void Session::catch_up(size_t most) {
    if (steps == 0) return;
    for (uint32_t c : {active(), 1 - active()})
        while (most > 0 && pending(c) > 0) most -= take(c, uint32_t(std::min<size_t>(most, kMostBatch)));
}

// The answer of a model with evidence: apps by their fused scores, and the share of a first-ever one.
void Session::fuse() {
    const float* logit = logits();
    if (fused == steps) return;
    fusion->score(*kernels, *evidence, evidence->now(), phi, state.hidden.get(), logit, state.whole.get());
    fused = steps;
}

double Session::unseen() {
    if (!evidence) return 0;
    fuse();
    return fusion->unseen;
}

size_t Session::rank(size_t k, stap_candidate* best, const Filter& filter) {
    if (!evidence) return rank_logits(k, best, filter);
    fuse();
    return copy_ranking(*fusion, k, best, filter);
}

// A pure model knows nothing of moments: it answers as of the last event.
size_t Session::rank_at(const Asked& asked, size_t k, stap_candidate* best, double& unseen_share,
                        const Filter& filter) {
    if (asked.kind == Asked::kOther) {
        unseen_share = unseen();
        return rank(k, best, filter);
    }
    unseen_share = 0;
    if (!evidence) return rank_logits(k, best, filter);
    if (steps == 0) fail(STAP_ERROR_EMPTY, "nothing observed yet");
    if (evidence->blend().apps.empty()) {  // all of them were forgotten
        unseen_share = 1;
        return 0;
    }
    FusionState& head = fuse_at(asked);
    if (word.speaks) head.correct(evidence->blend(), outlook, word);
    unseen_share = head.unseen;
    const size_t count = copy_ranking(head, k, best, filter);
    answer_again();
    return count;
}

// The head that answers for this question, until `answer_again`. Without a launch head, what is said of other apps is
// computed once per event, however often it is asked.
FusionState& Session::fuse_at(const Asked& asked) {
    if (steps == 0) fail(STAP_ERROR_EMPTY, "nothing observed yet");
    evidence->look(asked, outlook);
    word.notices.look(evidence->blend(), outlook);
    if (launch) {
        launch->score(*kernels, *evidence, outlook, phi, nullptr, nullptr, state.whole.get());
        return *launch;
    }
    fuse();
    fusion->include_current(*evidence, outlook);
    return *fusion;
}

void Session::answer_again() {
    if (!launch) fusion->leave_current_out();
}

// Before a launch is taken in: what would have been said of it, and what that teaches the last word.
void Session::learn_launch(std::string_view app, double minutes, double hour) {
    const Blend& blend = evidence->blend();
    const auto known = blend.places.find(std::string(app));
    if (!word.speaks || known == blend.places.end() || !blend.is_launch(app, minutes)) return;
    const uint64_t last = ranked;
    try {
        fuse_at({Asked::kLaunch, minutes, hour}).learn(blend, outlook, word, known->second);
        answer_again();
    } catch (const Failure&) {  // weights that give no number teach nothing; who asks will hear of it
    }
    ranked = last;  // nobody has asked
}

size_t Session::copy_ranking(const FusionState& head, size_t k, stap_candidate* best, const Filter& filter) const {
    size_t count = 0;
    for (size_t i = 0; i < head.ranking.size() && count < k; ++i) {
        const FusionState::Scored& scored = head.ranking[i];
        const std::string& app = evidence->blend().apps[scored.place].name;
        if (filter.passes(app)) best[count++] = {app.data(), app.size(), phi.index_of(app), float(scored.probability)};
    }
    return count;
}

size_t Session::rank_logits(size_t k, stap_candidate* best, const Filter& filter) {
    const float* logit = logits();
    std::vector<uint16_t> order;
    order.reserve(phi.slots.size());
    for (uint32_t i = 0; i < phi.slots.size(); ++i) {
        if (!std::isfinite(logit[i])) fail(STAP_ERROR_NUMBER, "a logit is no number");
        if (phi.slots[i].used) order.push_back(uint16_t(i));
    }
    if (order.empty()) return 0;  // all were forgotten
    const size_t sorted = filter.is_everybody() ? std::min(std::max<size_t>(k, 1), order.size()) : order.size();
    std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(sorted), order.end(),
                      [&](uint16_t a, uint16_t b) { return logit[a] != logit[b] ? logit[a] > logit[b] : a < b; });
    double total = 0;
    for (uint16_t i : order) total += std::exp(double(logit[i]) - logit[order[0]]);
    size_t count = 0;
    for (size_t i = 0; i < sorted && count < k; ++i) {
        const std::string& app = phi.slots[order[i]].app;
        const float share = float(std::exp(double(logit[order[i]]) - logit[order[0]]) / total);
        if (filter.passes(app)) best[count++] = {app.data(), app.size(), order[i], share};
    }
    return count;
}

}  // namespace stap
