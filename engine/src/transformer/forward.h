// A batch of events through the transformer, into a cache.
#pragma once

#include <cstdint>
#include <vector>

#include "files/model.h"
#include "person/statistics.h"
#include "transformer/cache.h"
#include "transformer/kernels.h"

namespace stap {

constexpr uint32_t kMostBatch = 32;

struct Event {
    double minutes;
    float hour;
    uint16_t app;  // virtual index
    uint8_t action;
    bool recycled;                     // the index meant another app until now
    float moment[kMomentValues] = {};  // of a model with evidence
};

// Everything a pass writes to, n = kMostBatch rows each.
struct RunState {
    Buffer<float> x;              // (n, d)
    Buffer<float> normed;         // (n, d)
    Buffer<float> qkv;            // (n, 3, H, D)
    Buffer<float> mixed;          // (n, H, D) what attention gathers
    Buffer<float> largest;        // (n, H) of the scores so far
    Buffer<float> sum;            // (n, H) of their exponentials
    Buffer<float> gate_up;        // (n, 2, hidden)
    Buffer<float> cos, sin;       // (n, 2, D / 2): by time, by index
    Buffer<float> scores;         // (kBlock + 16)
    Buffer<float> logits;         // (V)
    Buffer<float> hidden;         // (d) what the logits came from
    Buffer<int16_t> whole;        // (n, widest): inputs of int8 matrices
    Buffer<int16_t> whole_query;  // (n, H, D)
    Buffer<float> query_scale;    // (n, H)
    uint64_t bytes = 0;

    explicit RunState(const Model& model);
};

// Take the cache's next n events (at most kMostBatch). state.x then holds each one's last hidden state.
void forward(const Model& model, const Kernels& kernels, RunState& state, Pool& pool, Cache& cache, const Event* events,
             uint32_t n);

// state.hidden = norm(x[row]), state.logits = head(hidden).
void forward_head(const Model& model, const Kernels& kernels, RunState& state, uint32_t row);

}  // namespace stap
