#include "person/fusion.h"

#include <algorithm>
#include <cmath>

#include "failure.h"
#include "transformer/forward.h"

namespace stap {
namespace {

constexpr float kClip = 5;  // standard deviations: beyond what training saw, further makes no difference
constexpr uint32_t kHead = padded(kCandidateHead);  // of which the last values stay zero
constexpr float kQueryScale = 0.25f;                // 1 / sqrt(kCandidateHead)
static_assert(kQueryScale * kQueryScale * kCandidateHead == 1, "a head's scale follows from its size");
constexpr uint32_t kFurther = 15;  // rows past the last that a kernel may read

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

Buffer<float> FusionState::floats(size_t count) {
    bytes += count * sizeof(float);
    return buffer_new<float>(count);
}

FusionState::FusionState(const Model& model) {
    const uint32_t w = padded(model.config.evidence), f = padded(kStatistics),
                   s = padded(model.config.dim + kContextValues);
    const size_t n = kMostCandidates;
    state_ = floats(s);
    gate_ = floats(f);
    moment_ = floats(w);
    ones_ = floats(w);
    statistics_ = floats(n * f);
    first_ = floats(n * w);
    second_ = floats(n * w);
    out_ = floats(n * kPad);
    std::fill_n(ones_.get(), model.config.evidence, 1.0f);
    if (!model.config.candidate_heads) return;
    const size_t inside = padded(model.config.candidate_heads * kCandidateHead), m = kCompared + kFurther;
    queries_ = floats(n * inside);
    likeliest_ = floats(kCompared * 2 * inside);
    query_ = floats(kHead);
    keys_ = floats(m * kHead);
    values_ = floats(m * kHead);
    weights_ = floats(m);
    mix_ = floats(kHead);
    mixed_ = floats(n * inside);
    compared_ = floats(n * w);
}

void FusionState::score(const Model& model, const Kernels& kernels, const Evidence& evidence, const Phi& phi,
                        const float* hidden, const float* logits, const float* context, int16_t* scratch) {
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
    fuse(model, kernels, evidence, fused, scratch);
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
    std::stable_sort(ranking.begin(), ranking.end(),
                     [](const Scored& a, const Scored& b) { return a.probability > b.probability; });
}

// score_ of the first n candidates: gate . f + out . silu(hidden x + compare(x)), where x = silu(statistics f + rank +
// state).
void FusionState::fuse(const Model& model, const Kernels& kernels, const Evidence& evidence, uint32_t n,
                       int16_t* scratch) {
    const Fusion& fusion = *model.weights.fusion;
    const uint32_t width = model.config.evidence, w = padded(width), f = padded(kStatistics);
    for (uint32_t i = 0; i < n; ++i) {
        float statistics[kStatistics];
        evidence.statistics(places_[i], statistics);
        fusion.normalise_statistics(statistics, statistics_.get() + size_t(i) * f);
    }
    kernels.matmul(first_.get(), w, statistics_.get(), f, n, fusion.statistics.view, scratch);
    for (uint32_t i = 0; i < n; ++i) {
        float* x = first_.get() + size_t(i) * w;
        const float* rank = fusion.rank.get() + size_t(std::min(evidence.rank(places_[i]), kRanks - 1)) * width;
        for (uint32_t k = 0; k < width; ++k) x[k] += moment_[k] + rank[k];
        kernels.silu_mul(x, ones_.get(), w);
    }
    kernels.matmul(second_.get(), w, first_.get(), w, n, fusion.hidden.view, scratch);
    if (model.config.candidate_heads) compare(model, kernels, n, scratch);
    for (uint32_t i = 0; i < n; ++i) {
        float* x = second_.get() + size_t(i) * w;
        for (uint32_t k = 0; k < width; ++k) x[k] += fusion.hidden_bias[k];
        kernels.silu_mul(x, ones_.get(), w);
    }
    kernels.matmul(out_.get(), kPad, second_.get(), w, n, fusion.out.view, scratch);
    for (uint32_t i = 0; i < n; ++i) {
        double sum = out_[size_t(i) * kPad];
        for (uint32_t k = 0; k < kStatistics; ++k) sum += double(gate_[k]) * statistics_[size_t(i) * f + k];
        score_[i] = sum;
    }
}

// second_ += out of attention from first_'s n candidates to the likeliest of them.
void FusionState::compare(const Model& model, const Kernels& kernels, uint32_t n, int16_t* scratch) {
    const Fusion& fusion = *model.weights.fusion;
    const uint32_t w = padded(model.config.evidence), heads = model.config.candidate_heads,
                   inside = padded(heads * kCandidateHead);
    const uint32_t m = std::min(n, kCompared);
    Matrix query = fusion.compare_qkv.view, key_value = query;  // its first rows, and the others
    query.rows = inside;
    key_value.rows = 2 * inside;
    key_value.data = static_cast<const float*>(query.data) + size_t(inside) * query.cols;
    kernels.matmul(queries_.get(), inside, first_.get(), w, n, query, scratch);
    kernels.matmul(likeliest_.get(), 2 * inside, first_.get(), w, m, key_value, scratch);
    for (uint32_t h = 0; h < heads; ++h) {
        const uint32_t at = h * kCandidateHead;
        for (uint32_t j = 0; j < m; ++j) {
            const float* row = likeliest_.get() + size_t(j) * 2 * inside + at;
            std::copy_n(row, kCandidateHead, keys_.get() + size_t(j) * kHead);
            std::copy_n(row + inside, kCandidateHead, values_.get() + size_t(j) * kHead);
        }
        for (uint32_t i = 0; i < n; ++i) {
            const float* asking = queries_.get() + size_t(i) * inside + at;
            for (uint32_t k = 0; k < kCandidateHead; ++k) query_[k] = asking[k] * kQueryScale;
            float largest = kNever, sum = 0;
            kernels.score[STAP_F32](weights_.get(), {query_.get(), nullptr, 0}, keys_.get(), nullptr, m, kHead);
            kernels.soft(weights_.get(), m, &largest, &sum);
            std::fill_n(mix_.get(), kHead, 0.0f);
            kernels.mix[STAP_F32](mix_.get(), 0, weights_.get(), values_.get(), nullptr, m, kHead);
            float* mixed = mixed_.get() + size_t(i) * inside + at;
            const float scale = 1 / sum;
            for (uint32_t k = 0; k < kCandidateHead; ++k) mixed[k] = mix_[k] * scale;
        }
    }
    kernels.matmul(compared_.get(), w, mixed_.get(), inside, n, fusion.compare_out.view, scratch);
    for (size_t k = 0; k < size_t(n) * w; ++k) second_[k] += compared_[k];
}

}  // namespace stap
