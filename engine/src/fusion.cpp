#include "fusion.h"

#include <algorithm>
#include <cmath>

#include "failure.h"
#include "forward.h"

namespace stap {
namespace {

constexpr float kClip = 5;  // standard deviations: beyond what training saw, further makes no difference

void normalise(const float* x, const float* mean, const float* scale, uint32_t n, float* out) {
    for (uint32_t i = 0; i < n; ++i) out[i] = std::min(kClip, std::max(-kClip, (x[i] - mean[i]) * scale[i]));
}

}  // namespace

void Fusion::normalise_context(const float* context, float* out) const {
    normalise(context, context_mean.get(), context_scale.get(), kContextValues, out);
}

void Fusion::normalise_statistics(const float* statistics, float* out) const {
    normalise(statistics, statistic_mean.get(), statistic_scale.get(), kStatistics, out);
}

FusionState::FusionState(const Model& model) {
    const uint32_t w = padded(model.config.evidence), f = padded(kStatistics), s = padded(model.config.dim + kContextValues);
    state_ = buffer_new<float>(s);
    gate_ = buffer_new<float>(f);
    moment_ = buffer_new<float>(w);
    ones_ = buffer_new<float>(w);
    statistics_ = buffer_new<float>(size_t(kMostBatch) * f);
    first_ = buffer_new<float>(size_t(kMostBatch) * w);
    second_ = buffer_new<float>(size_t(kMostBatch) * w);
    out_ = buffer_new<float>(size_t(kMostBatch) * kPad);
    std::fill_n(ones_.get(), model.config.evidence, 1.0f);
}

void FusionState::score(const Model& model, const Kernels& kernels, const Evidence& evidence, const Phi& phi, const float* hidden,
                        const float* logits, const float* context, int16_t* scratch) {
    const Fusion& fusion = *model.weights.fusion;
    const uint32_t d = model.config.dim, s = padded(d + kContextValues);
    std::copy(hidden, hidden + d, state_.get());
    fusion.normalise_context(context, state_.get() + d);
    kernels.matmul(gate_.get(), padded(kStatistics), state_.get(), s, 1, fusion.gate.view, scratch);
    kernels.matmul(moment_.get(), padded(model.config.evidence), state_.get(), s, 1, fusion.state.view, scratch);
    kernels.matmul(out_.get(), kPad, state_.get(), s, 1, fusion.unseen.view, scratch);
    const double unseen_score = double(out_[0]) + fusion.unseen_bias;
    for (uint32_t i = 0; i < kStatistics; ++i) gate_[i] += fusion.gate_bias[i];
    for (uint32_t i = 0; i < model.config.evidence; ++i) moment_[i] += fusion.statistics_bias[i];

    evidence.candidates(evidence.apps(), places_);
    score_.resize(places_.size());
    ranking.resize(places_.size());
    const uint32_t fused = std::min(uint32_t(places_.size()), kMostCandidates);
    for (uint32_t i = 0; i < fused; i += kMostBatch) fuse(model, kernels, evidence, i, std::min(fused - i, kMostBatch), scratch);
    double largest = unseen_score;
    for (size_t i = 0; i < places_.size(); ++i) {
        const auto found = phi.index.find(evidence.name(places_[i]));
        const uint32_t index = found == phi.index.end() ? STAP_NO_INDEX : found->second;
        if (i >= fused) score_[i] = 0;
        score_[i] += double(fusion.blend_scale) * std::log(std::max(evidence.probability(places_[i]), 1e-7));
        if (index != STAP_NO_INDEX && i < fused) score_[i] += double(fusion.logit_scale) * logits[index];
        if (!std::isfinite(score_[i])) fail(STAP_ERROR_NUMBER, "an app's score is no number");
        largest = std::max(largest, score_[i]);
        ranking[i] = {places_[i], index, score_[i]};
    }
    if (!std::isfinite(unseen_score)) fail(STAP_ERROR_NUMBER, "the score of an unseen app is no number");
    unseen = std::exp(unseen_score - largest);
    double sum = unseen;
    for (Scored& one : ranking) sum += one.probability = std::exp(one.probability - largest);
    unseen /= sum;
    for (Scored& one : ranking) one.probability /= sum;
    // Equal scores keep the blend's order.
    std::stable_sort(ranking.begin(), ranking.end(), [](const Scored& a, const Scored& b) { return a.probability > b.probability; });
}

// score_ of n candidates: gate . f + out . silu(hidden silu(statistics f + rank + state)).
void FusionState::fuse(const Model& model, const Kernels& kernels, const Evidence& evidence, uint32_t first, uint32_t n, int16_t* scratch) {
    const Fusion& fusion = *model.weights.fusion;
    const uint32_t width = model.config.evidence, w = padded(width), f = padded(kStatistics);
    for (uint32_t i = 0; i < n; ++i) {
        float statistics[kStatistics];
        evidence.statistics(places_[first + i], statistics);
        fusion.normalise_statistics(statistics, statistics_.get() + size_t(i) * f);
    }
    kernels.matmul(first_.get(), w, statistics_.get(), f, n, fusion.statistics.view, scratch);
    for (uint32_t i = 0; i < n; ++i) {
        float* x = first_.get() + size_t(i) * w;
        const float* rank = fusion.rank.get() + size_t(std::min(evidence.rank(places_[first + i]), kRanks - 1)) * width;
        for (uint32_t k = 0; k < width; ++k) x[k] += moment_[k] + rank[k];
        kernels.silu_mul(x, ones_.get(), w);
    }
    kernels.matmul(second_.get(), w, first_.get(), w, n, fusion.hidden.view, scratch);
    for (uint32_t i = 0; i < n; ++i) {
        float* x = second_.get() + size_t(i) * w;
        for (uint32_t k = 0; k < width; ++k) x[k] += fusion.hidden_bias[k];
        kernels.silu_mul(x, ones_.get(), w);
    }
    kernels.matmul(out_.get(), kPad, second_.get(), w, n, fusion.out.view, scratch);
    for (uint32_t i = 0; i < n; ++i) {
        double sum = out_[size_t(i) * kPad];
        for (uint32_t k = 0; k < kStatistics; ++k) sum += double(gate_[k]) * statistics_[size_t(i) * f + k];
        score_[first + i] = sum;
    }
}

}  // namespace stap
