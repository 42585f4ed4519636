#include "person/fusion.h"

#include <algorithm>
#include <cmath>

#include "failure.h"

namespace stap {
namespace {

constexpr float kQueryScale = 0.25f;  // 1 / sqrt(kCandidateHead)
static_assert(kQueryScale * kQueryScale * kCandidateHead == 1, "a head's scale follows from its size");

}  // namespace

FusionState::FusionState(const Fusion& fusion, uint32_t candidate_heads)
    : fusion_(fusion), shape_(fusion.shape), heads_(candidate_heads) {
    std::fill_n(ones_.get(), shape_.width, 1.0f);
}

void FusionState::score(const Kernels& kernels, const Evidence& evidence, const Outlook& outlook, const Phi& phi,
                        const float* hidden, const float* logits, int16_t* scratch) {
    const uint32_t d = shape_.dim;
    float moment[kMomentValues];
    evidence.moment(outlook, moment);
    if (d > 0) std::copy(hidden, hidden + d, state_.get());
    fusion_.moment.apply(moment, shape_.moments, state_.get() + d);
    kernels.matmul(gate_.get(), kF, state_.get(), s_, 1, fusion_.gate, scratch);
    kernels.matmul(shift_.get(), w_, state_.get(), s_, 1, fusion_.state, scratch);
    kernels.matmul(out_.get(), kPad, state_.get(), s_, 1, fusion_.unseen, scratch);
    const double unseen_score = double(out_[0]) + fusion_.unseen_bias;
    for (uint32_t i = 0; i < shape_.statistics; ++i) gate_[i] += fusion_.gate_bias[i];
    for (uint32_t i = 0; i < shape_.width; ++i) shift_[i] += fusion_.statistics_bias[i];

    const Blend& blend = evidence.blend();
    blend.candidates(outlook, uint32_t(blend.apps.size()), places_);
    score_.assign(places_.size(), 0);
    ranking.resize(places_.size());
    const uint32_t weighed =
        std::min(uint32_t(places_.size()), kMostCandidates);  // for the others the blend speaks alone
    describe(evidence, outlook, weighed);
    weigh(kernels, weighed, scratch);
    for (size_t i = 0; i < places_.size(); ++i) {
        score_[i] += double(fusion_.blend_scale) * std::log(std::max(outlook.probability[places_[i]], kLeast));
        const uint32_t index = logits && i < weighed ? phi.index_of(blend.apps[places_[i]].name) : STAP_NO_INDEX;
        if (index != STAP_NO_INDEX) score_[i] += double(fusion_.logit_scale) * logits[index];
        if (!std::isfinite(score_[i])) fail(STAP_ERROR_NUMBER, "an app's score is no number");
        ranking[i] = {places_[i], 0};
    }
    if (!std::isfinite(unseen_score)) fail(STAP_ERROR_NUMBER, "the score of an unseen app is no number");
    rank(unseen_score);
}

// Scores to probabilities, best first; equal ones keep the blend's order.
void FusionState::rank(double unseen_score) {
    double largest = unseen_score;
    for (double score : score_) largest = std::max(largest, score);
    unseen = std::exp(unseen_score - largest);
    double sum = unseen;
    for (size_t i = 0; i < ranking.size(); ++i) {
        ranking[i].probability = std::exp(score_[i] - largest);
        sum += ranking[i].probability;
    }
    unseen /= sum;
    for (Scored& scored : ranking) scored.probability /= sum;
    sort();
}

void FusionState::sort() {
    std::stable_sort(ranking.begin(), ranking.end(),
                     [](const Scored& a, const Scored& b) { return a.probability > b.probability; });
}

// places_ and score_: the ranking's, with its probabilities.
void FusionState::list_ranking() {
    places_.resize(ranking.size());
    score_.resize(ranking.size());
    for (size_t i = 0; i < ranking.size(); ++i) {
        places_[i] = ranking[i].place;
        score_[i] = ranking[i].probability;
    }
}

// The ranking is of other apps than the current one: it gets the share that the habit of returning gives it.
void FusionState::include_current(const Evidence& evidence, const Outlook& outlook) {
    const uint32_t current = evidence.blend().recency[0];
    const double again = outlook.probability[current];
    aside_ = ranking;
    unseen_aside_ = unseen;
    for (Scored& scored : ranking) scored.probability *= 1 - again;
    unseen *= 1 - again;
    ranking.push_back({current, again});
    sort();
}

void FusionState::leave_current_out() {
    ranking.swap(aside_);
    unseen = unseen_aside_;
}

void FusionState::correct(const Blend& blend, const Outlook& outlook, LastWord& word) {
    list_ranking();
    word.correct(blend, outlook, places_, 1 - unseen, score_);
    for (size_t i = 0; i < ranking.size(); ++i) ranking[i].probability = score_[i];
    sort();
}

void FusionState::learn(const Blend& blend, const Outlook& outlook, LastWord& word, uint32_t chosen) {
    list_ranking();
    word.learn(blend, outlook, places_, 1 - unseen, score_, chosen);
}

double FusionState::score_with(const Kernels& kernels, size_t i, const float* statistics, uint32_t rank,
                               int16_t* scratch) {
    const uint32_t n = std::min(uint32_t(places_.size()), kMostCandidates);
    double score = double(fusion_.blend_scale) * statistics[kStatisticBlend];
    if (i < n) {
        float* row = statistics_.get() + i * kF;
        float kept[kStatistics];
        std::copy_n(row, shape_.statistics, kept);
        const uint32_t kept_rank = ranks_[i];
        fusion_.statistic.apply(statistics, shape_.statistics, row);
        ranks_[i] = std::min(rank, kRanks - 1);
        weigh(kernels, n, scratch);
        score += score_[i];
        std::copy_n(kept, shape_.statistics, row);
        ranks_[i] = kept_rank;
    }
    if (!std::isfinite(score)) fail(STAP_ERROR_NUMBER, "an app's score is no number");
    return score;
}

// What the head reads of the first n candidates.
void FusionState::describe(const Evidence& evidence, const Outlook& outlook, uint32_t n) {
    ranks_.resize(n);
    for (uint32_t i = 0; i < n; ++i) {
        float statistics[kStatistics];
        evidence.statistics(outlook, places_[i], statistics);
        fusion_.statistic.apply(statistics, shape_.statistics, statistics_.get() + size_t(i) * kF);
        ranks_[i] = std::min(evidence.blend().apps[places_[i]].rank, kRanks - 1);
    }
}

// Their score_: gate . f + out . silu(hidden x + compare(x)), x = silu(statistics f + rank + state).
void FusionState::weigh(const Kernels& kernels, uint32_t n, int16_t* scratch) {
    const uint32_t width = shape_.width;
    kernels.matmul(first_.get(), w_, statistics_.get(), kF, n, fusion_.statistics, scratch);
    for (uint32_t i = 0; i < n; ++i) {
        float* x = first_.get() + size_t(i) * w_;
        const float* of_rank = fusion_.rank.get() + size_t(ranks_[i]) * width;
        for (uint32_t k = 0; k < width; ++k) x[k] += shift_[k] + of_rank[k];
        kernels.silu_mul(x, ones_.get(), w_);
    }
    kernels.matmul(second_.get(), w_, first_.get(), w_, n, fusion_.hidden, scratch);
    if (heads_) compare(kernels, n, scratch);
    for (uint32_t i = 0; i < n; ++i) {
        float* x = second_.get() + size_t(i) * w_;
        for (uint32_t k = 0; k < width; ++k) x[k] += fusion_.hidden_bias[k];
        kernels.silu_mul(x, ones_.get(), w_);
    }
    kernels.matmul(out_.get(), kPad, second_.get(), w_, n, fusion_.out, scratch);
    for (uint32_t i = 0; i < n; ++i) {
        score_[i] = out_[size_t(i) * kPad];
        for (uint32_t k = 0; k < shape_.statistics; ++k)
            score_[i] += double(gate_[k]) * statistics_[size_t(i) * kF + k];
    }
}

// second_ += out of attention from first_'s n candidates to the likeliest of them.
void FusionState::compare(const Kernels& kernels, uint32_t n, int16_t* scratch) {
    const uint32_t m = std::min(n, kCompared);
    Matrix query = fusion_.compare_qkv, key_value = query;  // its first rows, and the others
    query.rows = inside_;
    key_value.rows = 2 * inside_;
    key_value.data = static_cast<const float*>(query.data) + size_t(inside_) * query.cols;
    kernels.matmul(queries_.get(), inside_, first_.get(), w_, n, query, scratch);
    kernels.matmul(likeliest_.get(), 2 * inside_, first_.get(), w_, m, key_value, scratch);
    for (uint32_t h = 0; h < heads_; ++h) {
        const uint32_t at = h * kCandidateHead;
        for (uint32_t j = 0; j < m; ++j) {
            const float* row = likeliest_.get() + size_t(j) * 2 * inside_ + at;
            std::copy_n(row, kCandidateHead, keys_.get() + size_t(j) * kD);
            std::copy_n(row + inside_, kCandidateHead, values_.get() + size_t(j) * kD);
        }
        for (uint32_t i = 0; i < n; ++i) {
            const float* asking = queries_.get() + size_t(i) * inside_ + at;
            for (uint32_t k = 0; k < kCandidateHead; ++k) query_[k] = asking[k] * kQueryScale;
            float largest = kNever, sum = 0;
            kernels.score[STAP_F32](weights_.get(), {query_.get(), nullptr, 0}, keys_.get(), nullptr, m, kD);
            kernels.soft(weights_.get(), m, &largest, &sum);
            std::fill_n(mix_.get(), kD, 0.0f);
            kernels.mix[STAP_F32](mix_.get(), 0, weights_.get(), values_.get(), nullptr, m, kD);
            float* mixed = mixed_.get() + size_t(i) * inside_ + at;
            const float scale = 1 / sum;
            for (uint32_t k = 0; k < kCandidateHead; ++k) mixed[k] = mix_[k] * scale;
        }
    }
    kernels.matmul(compared_.get(), w_, mixed_.get(), inside_, n, fusion_.compare_out, scratch);
    for (size_t k = 0; k < size_t(n) * w_; ++k) second_[k] += compared_[k];
}

}  // namespace stap
