// The loops that cost time, once for every instruction set; chosen when a session is made.
//
// All lengths are multiples of kPad and all memory past the real values is zero. Every result depends on its own inputs
// only, never on what else was in the batch: an event gives the same bits alone and among others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stap.h"

namespace stap {

// A weight matrix, rows x cols, row-major.
struct Matrix {
    stap_dtype dtype;
    const void* data;    // float, half (uint16_t) or int8_t
    const float* scale;  // (rows,) of int8: value = scale[row] * stored
    uint32_t rows, cols;
};

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
    // scores -> exp(score - largest so far), adding up in `sum`; what earlier sums have to be multiplied with is
    // returned.
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

// nullptr where this build or this processor lacks them.
const Kernels* kernels_find(stap_kernels wanted);

extern const Kernels kScalarKernels;
#if defined(STAP_HAVE_X86)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif
#if defined(STAP_HAVE_NEON)
extern const Kernels kNeonKernels;
#endif

}  // namespace stap
