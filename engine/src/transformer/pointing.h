// The pointing head: attention over the openings so far, whose apps it points at (model/pointing.py).
#pragma once

#include <cstdint>

#include "files/model.h"
#include "transformer/cache.h"
#include "transformer/kernels.h"

namespace stap {

// What pointing writes to: P heads; n rows where a batch is taken.
struct PointingState {
    Buffer<float> qk;            // (n, 2, P, D)
    Buffer<float> share;         // (P, V) of each app
    Buffer<float> largest, sum;  // (P) of a head's scores, of their exponentials
    Buffer<float> gate;          // (P)
    Buffer<float> scores, ago;   // of one block: a head's scores; usages since, or kNever where it may not point
    Buffer<int16_t> whole;       // (D) a query for int8 keys
};

struct PointingPass {
    const Model& model;
    const Kernels& kernels;
    PointingState& state;
    Pool& pool;
    Cache& cache;

    // The keys of the cache's next n events; hidden (n, d) are their last states. Before these events count as taken.
    void place(const float* hidden, uint32_t n, int16_t* scratch);
    // Adds to the logits (V) what is said after the cache's last event, of row i of what was placed.
    void speak(const float* hidden, uint32_t i, float* logits, int16_t* scratch);

   private:
    uint32_t look_back(uint32_t start, uint32_t opened);
    void attend(uint32_t h, const Query& query, uint32_t start);
};

}  // namespace stap
