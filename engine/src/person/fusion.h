// The evidence head at work: every candidate's statistics, weighed by a gate that sees the moment, beside the
// transformer's logit. model/fusion.py is the same in Python.
#pragma once

#include <cstdint>
#include <vector>

#include "files/model.h"
#include "person/bounds.h"
#include "person/evidence.h"
#include "person/last_word.h"
#include "person/phi.h"
#include "transformer/kernels.h"

namespace stap {

struct FusionState {
    struct Scored {
        uint32_t place;  // in the evidence
        double probability;
    };
    std::vector<Scored> ranking;  // every app, best first; the current one where it may come
    double unseen = 0;            // the probability of a first-ever app
    uint64_t bytes = 0;

    FusionState(const Fusion& fusion, uint32_t candidate_heads);  // the head has to outlive it

    // hidden, logits: of the transformer, null for a head that does not read it; scratch: inputs of int8 matrices, as
    // in RunState.
    void score(const Kernels& kernels, const Evidence& evidence, const Outlook& outlook, const Phi& phi,
               const float* hidden, const float* logits, int16_t* scratch);
    // Of a model without a launch head: its ranking is put aside, gets the current app, and is as before again.
    void include_current(const Evidence& evidence, const Outlook& outlook);
    void leave_current_out();
    void correct(const Blend& blend, const Outlook& outlook, LastWord& word);  // then, of a launch: the last word
    void learn(const Blend& blend, const Outlook& outlook, LastWord& word, uint32_t chosen);

    // After `score`, until anything else is asked: the candidates, likeliest first by the blend; and what the i-th
    // would score (its logit left out) with these statistics and this rank of recency, while everybody else stays as
    // they are.
    const std::vector<uint32_t>& candidates() const { return places_; }
    double score_with(const Kernels& kernels, size_t i, const float* statistics, uint32_t rank, int16_t* scratch);

   private:
    void describe(const Evidence& evidence, const Outlook& outlook, uint32_t n);
    void weigh(const Kernels& kernels, uint32_t n, int16_t* scratch);
    void compare(const Kernels& kernels, uint32_t n, int16_t* scratch);
    void rank(double unseen_score);
    void sort();
    void list_ranking();

    Buffer<float> floats(size_t count) { return buffer_counted<float>(count, bytes); }

    static constexpr uint32_t kF = padded(kStatistics), kD = padded(kCandidateHead);
    static constexpr uint32_t kRoom = kCompared + 15;  // a kernel may read so many rows further

    const Fusion& fusion_;
    const HeadShape shape_;
    const uint32_t heads_;  // that compare candidates
    const uint32_t w_ = padded(shape_.width), s_ = padded(shape_.state());
    const uint32_t inside_ = padded(heads_ * kCandidateHead);  // H * D
    std::vector<Scored> aside_;
    double unseen_aside_ = 0;
    std::vector<uint32_t> places_;
    std::vector<double> score_;
    std::vector<uint32_t> ranks_;                              // of recency, of those that are weighed
    Buffer<float> state_ = floats(s_);                         // (S)
    Buffer<float> gate_ = floats(kF);                          // (F)
    Buffer<float> shift_ = floats(w_);                         // (W) what the state adds for every candidate
    Buffer<float> ones_ = floats(w_);                          // (W)
    Buffer<float> statistics_ = floats(kMostCandidates * kF);  // (n, F)
    Buffer<float> first_ = floats(kMostCandidates * w_);       // (n, W)
    Buffer<float> second_ = floats(kMostCandidates * w_);      // (n, W)
    Buffer<float> out_ = floats(kMostCandidates * kPad);       // (n, 1)
    // Of a model that compares candidates, the m likeliest with all of them:
    Buffer<float> queries_ = floats(kMostCandidates * inside_);  // (n, H * D)
    Buffer<float> likeliest_ = floats(kCompared * 2 * inside_);  // (m, 2 * H * D) keys and values
    Buffer<float> query_ = floats(kD);                           // (D) of one head, as the next four
    Buffer<float> keys_ = floats(kRoom * kD);                    // (m, D)
    Buffer<float> values_ = floats(kRoom * kD);                  // (m, D)
    Buffer<float> weights_ = floats(kRoom);                      // (m)
    Buffer<float> mix_ = floats(kD);                             // (D)
    Buffer<float> mixed_ = floats(kMostCandidates * inside_);    // (n, H * D)
    Buffer<float> compared_ = floats(kMostCandidates * w_);      // (n, W)
};

}  // namespace stap
