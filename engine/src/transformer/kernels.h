// The loops that cost time, once for every instruction set; chosen when a session is made.
//
// All lengths are multiples of kPad and all memory past the real values is zero. Every result depends on its own inputs
// only, never on what else was in the batch: an event gives the same bits alone and among others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"

namespace stap {

// A query of one head, in both forms.
struct Query {
    const float* values;   // (D,) scaled by 1 / sqrt(D)
    const int16_t* whole;  // (D,) values = scale * whole; for int8 keys
    float scale;
};

struct Kernels {
    stap_kernels id;
    const char* name;

    // y (n, ldy) = x (n, ldx) w^T; scratch: n * cols int16.
    void (*matmul)(float* y, size_t ldy, const float* x, size_t ldx, uint32_t n, const Matrix& w, int16_t* scratch);
    // y = x / rms(x) * weight over the first `real` of `size` values.
    void (*rms_norm)(float* y, const float* x, const float* weight, uint32_t real, uint32_t size, float eps);
    // gate = silu(gate) * up.
    void (*silu_mul)(float* gate, const float* up, uint32_t size);
    // Values to the nearest multiples of the scale that is returned; at most `most` of them either side.
    float (*to_int16)(int16_t* out, const float* x, uint32_t size, float most);
    // One head's key or value into the cache; int8's scale is returned.
    float (*store[3])(void* out, const float* x, uint32_t size);
    // scores (n,) of n keys (n, size); may read and write up to 15 rows further.
    void (*score[3])(float* scores, const Query& query, const void* keys, const float* scales, uint32_t n,
                     uint32_t size);
    // scores -> exp(score - largest so far), adding up in `sum`; the factor of earlier sums is returned.
    float (*soft)(float* scores, uint32_t n, float* largest, float* sum);
    // out (size,) = out * keep + sum of weights (n,) times values (n, size).
    void (*mix[3])(float* out, float keep, const float* weights, const void* values, const float* scales, uint32_t n,
                   uint32_t size);
};

constexpr float kNever = -1e30f;  // the score of what may not be seen

// The largest magnitude an int16 may have so that a dot product with `size` int8 values fits 32 bits.
inline float int16_most(uint32_t size) {
    const uint32_t most = 0x7fffffffu / 127u / size;
    return float(most < 32767u ? most : 32767u);
}

// What a file of kernels ends with: the functions in it, which have the same names in every one.
#define STAP_KERNEL_TABLE(id, name)                                                       \
    {                                                                                     \
        id, name, matmul, rms_norm, silu_mul, to_int16, {store_f32, store_f16, store_i8}, \
            {score_floats<float>, score_floats<uint16_t>, score_i8}, soft, {              \
            mix<float, false>, mix<uint16_t, false>, mix<int8_t, true>                    \
        }                                                                                 \
    }

extern const Kernels kScalarKernels, kAvx2Kernels, kAvx512Kernels, kNeonKernels;  // of these, those of this build

// The kernels with this number, nullptr where this build or this processor lacks them. STAP_KERNELS_BEST: those that
// the environment variable STAP_KERNELS names if they run here, else the fastest.
const Kernels* kernels_find(int wanted);

}  // namespace stap
