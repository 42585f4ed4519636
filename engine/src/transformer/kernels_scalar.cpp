// Plain loops, one value at a time, not vectorised by the compiler either: the paper's own engine, and the reference
// that the other kernels are held to.
#include <cmath>

#include "dtype.h"
#include "transformer/kernels.h"

namespace stap {
namespace {

inline float value_of(float x) { return x; }
inline float value_of(uint16_t x) { return half_to_float(x); }
inline float value_of(int8_t x) { return float(x); }

template <typename T>
float to_integers(T* out, const float* x, uint32_t size, float most) {
    float largest = 0;
    for (uint32_t i = 0; i < size; ++i) largest = std::fabs(x[i]) > largest ? std::fabs(x[i]) : largest;
    const float inverse = largest > 1e-30f && largest < 1e30f ? most / largest : 0;
    for (uint32_t i = 0; i < size; ++i)
        out[i] = inverse != 0 && x[i] == x[i] ? T(std::nearbyint(x[i] * inverse)) : T(0);
    return inverse != 0 ? largest / most : 0;
}

float to_int16(int16_t* out, const float* x, uint32_t size, float most) { return to_integers(out, x, size, most); }

template <typename W>
void matmul_floats(float* y, size_t ldy, const float* x, size_t ldx, uint32_t n, const Matrix& w) {
    const W* data = static_cast<const W*>(w.data);
    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t row = 0; row < w.rows; ++row) {
            float sum = 0;
            for (uint32_t col = 0; col < w.cols; ++col)
                sum += value_of(data[size_t(row) * w.cols + col]) * x[i * ldx + col];
            y[i * ldy + row] = sum;
        }
}

void matmul(float* y, size_t ldy, const float* x, size_t ldx, uint32_t n, const Matrix& w, int16_t* scratch) {
    if (w.dtype == STAP_F32) return matmul_floats<float>(y, ldy, x, ldx, n, w);
    if (w.dtype == STAP_F16) return matmul_floats<uint16_t>(y, ldy, x, ldx, n, w);
    const int8_t* data = static_cast<const int8_t*>(w.data);
    for (uint32_t i = 0; i < n; ++i) {
        const float scale = to_int16(scratch, x + i * ldx, w.cols, int16_most(w.cols));
        for (uint32_t row = 0; row < w.rows; ++row) {
            int32_t sum = 0;
            for (uint32_t col = 0; col < w.cols; ++col) sum += int32_t(data[size_t(row) * w.cols + col]) * scratch[col];
            y[i * ldy + row] = float(sum) * (scale * w.scale[row]);
        }
    }
}

void rms_norm(float* y, const float* x, const float* weight, uint32_t real, uint32_t size, float eps) {
    float sum = 0;
    for (uint32_t i = 0; i < real; ++i) sum += x[i] * x[i];
    const float scale = 1 / std::sqrt(sum / float(real) + eps);
    for (uint32_t i = 0; i < size; ++i) y[i] = x[i] * scale * weight[i];
}

void silu_mul(float* gate, const float* up, uint32_t size) {
    for (uint32_t i = 0; i < size; ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
}

float store_f32(void* out, const float* x, uint32_t size) {
    for (uint32_t i = 0; i < size; ++i) static_cast<float*>(out)[i] = x[i];
    return 1;
}

float store_f16(void* out, const float* x, uint32_t size) {
    for (uint32_t i = 0; i < size; ++i) static_cast<uint16_t*>(out)[i] = half_from_float(x[i]);
    return 1;
}

float store_i8(void* out, const float* x, uint32_t size) {
    return to_integers(static_cast<int8_t*>(out), x, size, 127);
}

template <typename T>
void score_floats(float* scores, const Query& query, const void* keys, const float*, uint32_t n, uint32_t size) {
    const T* key = static_cast<const T*>(keys);
    for (uint32_t j = 0; j < n; ++j, key += size) {
        float sum = 0;
        for (uint32_t i = 0; i < size; ++i) sum += query.values[i] * value_of(key[i]);
        scores[j] = sum;
    }
}

void score_i8(float* scores, const Query& query, const void* keys, const float* scales, uint32_t n, uint32_t size) {
    const int8_t* key = static_cast<const int8_t*>(keys);
    for (uint32_t j = 0; j < n; ++j, key += size) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < size; ++i) sum += int32_t(query.whole[i]) * key[i];
        scores[j] = float(sum) * (query.scale * scales[j]);
    }
}

float soft(float* scores, uint32_t n, float* largest, float* sum) {
    float top = *largest;
    for (uint32_t j = 0; j < n; ++j) top = scores[j] > top ? scores[j] : top;
    const float keep = std::exp(*largest - top);
    float total = *sum * keep;
    for (uint32_t j = 0; j < n; ++j) {
        scores[j] = std::exp(scores[j] - top);
        total += scores[j];
    }
    *largest = top;
    *sum = total;
    return keep;
}

template <typename T, bool scaled>
void mix(float* out, float keep, const float* weights, const void* values, const float* scales, uint32_t n,
         uint32_t size) {
    const T* value = static_cast<const T*>(values);
    for (uint32_t i = 0; i < size; ++i) out[i] *= keep;
    for (uint32_t j = 0; j < n; ++j, value += size) {
        const float weight = scaled ? weights[j] * scales[j] : weights[j];
        for (uint32_t i = 0; i < size; ++i) out[i] += weight * value_of(value[i]);
    }
}

}  // namespace

const Kernels kScalarKernels = STAP_KERNEL_TABLE(STAP_KERNELS_SCALAR, "scalar");

}  // namespace stap
