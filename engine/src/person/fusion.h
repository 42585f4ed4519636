// The evidence head at work: every candidate's statistics, weighed by a gate that sees the moment, beside the
// transformer's logit. model/fusion.py is the same in Python.
#pragma once

#include <cstdint>
#include <vector>

#include "files/model.h"
#include "person/evidence.h"
#include "person/phi.h"
#include "transformer/kernels.h"

namespace stap {

struct FusionState {
    struct Scored {
        uint32_t place, index;  // in the evidence; in phi, or STAP_NO_INDEX
        double probability;
    };
    std::vector<Scored> ranking;  // every app but the current one, best first
    double unseen = 0;            // the probability of a first-ever app
    uint64_t bytes = 0;

    explicit FusionState(const Model& model);

    // scratch: inputs of int8 matrices, as in RunState.
    void score(const Kernels& kernels, const Evidence& evidence, const Phi& phi, const float* hidden,
               const float* logits, const float* moment, int16_t* scratch);

   private:
    void weigh(const Kernels& kernels, const Evidence& evidence, uint32_t n, int16_t* scratch);
    void compare(const Kernels& kernels, uint32_t n, int16_t* scratch);
    void rank(double unseen_score);

    const Config& config_;
    const Fusion& fusion_;
    std::vector<uint32_t> places_;
    std::vector<double> score_;
    Buffer<float> state_;       // (S)
    Buffer<float> gate_;        // (F)
    Buffer<float> shift_;       // (W) what the state adds for every candidate
    Buffer<float> ones_;        // (W)
    Buffer<float> statistics_;  // (n, F)
    Buffer<float> first_;       // (n, W)
    Buffer<float> second_;      // (n, W)
    Buffer<float> out_;         // (n, 1)
    // Of a model that compares candidates:
    Buffer<float> queries_;    // (n, H * D)
    Buffer<float> likeliest_;  // (m, 2 * H * D) keys and values of those that all are compared with
    Buffer<float> query_;      // (D) of one head, as the next four
    Buffer<float> keys_;       // (m, D)
    Buffer<float> values_;     // (m, D)
    Buffer<float> weights_;    // (m)
    Buffer<float> mix_;        // (D)
    Buffer<float> mixed_;      // (n, H * D)
    Buffer<float> compared_;   // (n, W)
};

}  // namespace stap
