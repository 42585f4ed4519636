// A batch of events through the transformer, into a cache.
#pragma once

#include <cstdint>
#include <vector>

#include "files/model.h"
#include "person/statistics.h"
#include "transformer/cache.h"
#include "transformer/kernels.h"
#include "transformer/pointing.h"

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
    const Sizes& sizes;
    uint64_t bytes = 0;
    Buffer<float> x = rows<float>(sizes.d);                            // (n, d)
    Buffer<float> normed = rows<float>(sizes.d);                       // (n, d)
    Buffer<float> qkv = rows<float>(3 * sizes.attention);              // (n, 3, H, D)
    Buffer<float> mixed = rows<float>(sizes.attention);                // (n, H, D) what attention gathers
    Buffer<float> largest = rows<float>(sizes.heads);                  // (n, H) of the scores so far
    Buffer<float> sum = rows<float>(sizes.heads);                      // (n, H) of their exponentials
    Buffer<float> gate_up = rows<float>(2 * sizes.hidden);             // (n, 2, hidden)
    Buffer<float> cos = rows<float>(sizes.head);                       // (n, 2, D / 2): by time, by index
    Buffer<float> sin = rows<float>(sizes.head);                       // (n, 2, D / 2)
    Buffer<int16_t> whole = rows<int16_t>(sizes.widest());             // (n, widest): inputs of int8 matrices
    Buffer<int16_t> whole_query = rows<int16_t>(sizes.attention);      // (n, H, D)
    Buffer<float> query_scale = rows<float>(sizes.heads);              // (n, H)
    Buffer<float> scores = buffer_counted<float>(kBlock + 16, bytes);  // of one block
    Buffer<float> logits = buffer_counted<float>(sizes.vocabulary, bytes);
    Buffer<float> hidden = buffer_counted<float>(sizes.d, bytes);  // what the logits came from

    PointingState pointing;  // of a model that points

    explicit RunState(const Model& model) : sizes(model.sizes) {
        if (const uint32_t heads = model.config.pointing_heads) {
            const size_t block = kBlock + 16;
            pointing.qk = rows<float>(2 * size_t(sizes.pointing));
            pointing.share = buffer_counted<float>(size_t(heads) * sizes.vocabulary, bytes);
            for (Buffer<float>* each : {&pointing.largest, &pointing.sum, &pointing.gate})
                *each = buffer_counted<float>(padded(heads), bytes);
            for (Buffer<float>* each : {&pointing.scores, &pointing.ago}) *each = buffer_counted<float>(block, bytes);
            pointing.whole = buffer_counted<int16_t>(sizes.head, bytes);
        }
    }

   private:
    template <typename T>
    Buffer<T> rows(size_t width) {
        return buffer_counted<T>(kMostBatch * width, bytes);
    }
};

// Take the cache's next n events (at most kMostBatch). state.x then holds each one's last hidden state.
void forward(const Model& model, const Kernels& kernels, RunState& state, Pool& pool, Cache& cache, const Event* events,
             uint32_t n);

// state.hidden = norm(x[row]), state.logits = head(hidden) and what the pointing head adds. The row is the cache's last
// event.
void forward_head(const Model& model, const Kernels& kernels, RunState& state, Pool& pool, Cache& cache, uint32_t row);

}  // namespace stap
