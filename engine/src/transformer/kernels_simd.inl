// The kernels, written once over a few vector operations. The including file defines, in an unnamed namespace:
//   F: kWidth floats, v. load(float*, half* or int8*), set(x), zero(), store(p, a), store_half(p, a), max, min,
//      fma(a, b, c) = a * b + c, abs, sum(a), top(a), sums(a[kWidth]) -> F of their sums, nearest(a), power(n) = 2^n
//      for whole n, zero_below(a, x, least), to_whole(p16 or p8, a): the values, whole already, as integers
//   I: 32-bit sums. zero(), dot(sum, int8* 32 of them, int16*), sum(a), sums(a[kWidth]) -> F
// No function of the standard library here: this is compiled for processors that others may not have.

inline F operator+(F a, F b) { return {a.v + b.v}; }
inline F operator-(F a, F b) { return {a.v - b.v}; }
inline F operator*(F a, F b) { return {a.v * b.v}; }
inline F operator/(F a, F b) { return {a.v / b.v}; }

inline F exp_vector(F x) {  // relative error below 2e-7; below -87.3 it is zero
    const F clamped = F::max(F::min(x, F::set(88.0f)), F::set(-87.3f));
    const F n = F::nearest(clamped * F::set(1.44269504f));
    F r = F::fma(n, F::set(-0.693359375f), clamped);
    r = F::fma(n, F::set(2.12194440e-4f), r);
    F p = F::set(1.9875691500e-4f);
    p = F::fma(p, r, F::set(1.3981999507e-3f));
    p = F::fma(p, r, F::set(8.3334519073e-3f));
    p = F::fma(p, r, F::set(4.1665795894e-2f));
    p = F::fma(p, r, F::set(1.6666665459e-1f));
    p = F::fma(p, r, F::set(5.0000001201e-1f));
    p = F::fma(p, r * r, r + F::set(1.0f));
    return F::zero_below(p * F::power(n), x, F::set(-87.3f));
}

float largest_magnitude(const float* x, uint32_t size) {
    F top = F::zero();
    for (uint32_t i = 0; i < size; i += kWidth) top = F::max(top, F::abs(F::load(x + i)));
    return F::top(top);
}

template <typename T>
float to_integers(T* out, const float* x, uint32_t size, float most) {
    const float largest = largest_magnitude(x, size);
    const float inverse = largest > 1e-30f && largest < 1e30f ? most / largest : 0;
    if (inverse == 0) {
        for (uint32_t i = 0; i < size; ++i) out[i] = 0;
        return 0;
    }
    for (uint32_t i = 0; i < size; i += kWidth) F::to_whole(out + i, F::nearest(F::load(x + i) * F::set(inverse)));
    return largest / most;
}

float to_int16(int16_t* out, const float* x, uint32_t size, float most) { return to_integers(out, x, size, most); }

// R rows of w by C rows of x; every sum runs in the same order whatever R and C are.
template <typename W, int R, int C>
inline void tile(float* y, size_t ldy, const float* x, size_t ldx, const W* w, uint32_t cols) {
    F sums[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) sums[r][c] = F::zero();
    for (uint32_t i = 0; i < cols; i += kWidth)
        for (int r = 0; r < R; ++r) {
            const F weight = F::load(w + size_t(r) * cols + i);
            for (int c = 0; c < C; ++c) sums[r][c] = F::fma(weight, F::load(x + c * ldx + i), sums[r][c]);
        }
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) y[c * ldy + r] = F::sum(sums[r][c]);
}

template <typename W>
void matmul_floats(float* y, size_t ldy, const float* x, size_t ldx, uint32_t n, const Matrix& m) {
    const W* w = static_cast<const W*>(m.data);
    for (uint32_t row = 0; row < m.rows; row += 8) {
        uint32_t i = 0;
        for (; i + 4 <= n; i += 4)
            for (uint32_t r = row; r < row + 8; r += 2)
                tile<W, 2, 4>(y + i * ldy + r, ldy, x + i * ldx, ldx, w + size_t(r) * m.cols, m.cols);
        for (; i < n; ++i) tile<W, 8, 1>(y + i * ldy + row, ldy, x + i * ldx, ldx, w + size_t(row) * m.cols, m.cols);
    }
}

// R rows of w, each `apart` rows from the one before: read in R places at once, memory is a tenth to a half faster.
template <int R, int C>
inline void tile_i8(float* y, size_t ldy, const int16_t* x, const float* scales, const int8_t* w,
                    const float* row_scales, uint32_t cols, uint32_t apart) {
    const size_t stride = size_t(apart) * cols;
    I sums[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) sums[r][c] = I::zero();
    for (uint32_t i = 0; i < cols; i += 32)
        for (int r = 0; r < R; ++r)
            for (int c = 0; c < C; ++c) sums[r][c] = I::dot(sums[r][c], w + r * stride + i, x + size_t(c) * cols + i);
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c)
            y[c * ldy + size_t(r) * apart] = float(I::sum(sums[r][c])) * (scales[c] * row_scales[size_t(r) * apart]);
}

void matmul_i8(float* y, size_t ldy, const float* x, size_t ldx, uint32_t n, const Matrix& m, int16_t* scratch) {
    const int8_t* w = static_cast<const int8_t*>(m.data);
    constexpr uint32_t kMost = 64, kRows = 4;
    const bool large = size_t(m.rows) * m.cols >= 32768;  // a smaller one lies in the first cache, and as well in a row
    const uint32_t apart = large ? m.rows / kRows : 1, step = large ? 1 : kRows;
    float scales[kMost];
    for (uint32_t first = 0; first < n; first += kMost) {
        const uint32_t count = n - first < kMost ? n - first : kMost;
        int16_t* whole = scratch + size_t(first) * m.cols;
        for (uint32_t i = 0; i < count; ++i)
            scales[i] = to_int16(whole + size_t(i) * m.cols, x + (first + i) * ldx, m.cols, int16_most(m.cols));
        for (uint32_t tile = 0, row = 0; tile < m.rows / kRows; ++tile, row += step) {
            const int8_t* rows = w + size_t(row) * m.cols;
            uint32_t i = 0;
            for (; i + 2 <= count; i += 2)
                tile_i8<kRows, 2>(y + (first + i) * ldy + row, ldy, whole + size_t(i) * m.cols, scales + i, rows,
                                  m.scale + row, m.cols, apart);
            for (; i < count; ++i)
                tile_i8<kRows, 1>(y + (first + i) * ldy + row, ldy, whole + size_t(i) * m.cols, scales + i, rows,
                                  m.scale + row, m.cols, apart);
        }
    }
}

void matmul(float* y, size_t ldy, const float* x, size_t ldx, uint32_t n, const Matrix& w, int16_t* scratch) {
    if (w.dtype == STAP_F32) return matmul_floats<float>(y, ldy, x, ldx, n, w);
    if (w.dtype == STAP_F16) return matmul_floats<uint16_t>(y, ldy, x, ldx, n, w);
    matmul_i8(y, ldy, x, ldx, n, w, scratch);
}

void rms_norm(float* y, const float* x, const float* weight, uint32_t real, uint32_t size, float eps) {
    F squares = F::zero();
    for (uint32_t i = 0; i < size; i += kWidth) squares = F::fma(F::load(x + i), F::load(x + i), squares);
    const F scale = F::set(1 / __builtin_sqrtf(F::sum(squares) / float(real) + eps));
    for (uint32_t i = 0; i < size; i += kWidth) F::store(y + i, F::load(x + i) * scale * F::load(weight + i));
}

void silu_mul(float* gate, const float* up, uint32_t size) {
    for (uint32_t i = 0; i < size; i += kWidth) {
        const F g = F::load(gate + i);
        const F down = F::set(1) + exp_vector(g * F::set(-1));
        F::store(gate + i, g / down * F::load(up + i));
    }
}

float store_f32(void* out, const float* x, uint32_t size) {
    for (uint32_t i = 0; i < size; i += kWidth) F::store(static_cast<float*>(out) + i, F::load(x + i));
    return 1;
}

float store_f16(void* out, const float* x, uint32_t size) {
    const F most = F::set(65504), least = F::set(-65504);
    for (uint32_t i = 0; i < size; i += kWidth)
        F::store_half(static_cast<uint16_t*>(out) + i, F::max(F::min(F::load(x + i), most), least));
    return 1;
}

float store_i8(void* out, const float* x, uint32_t size) {
    return to_integers(static_cast<int8_t*>(out), x, size, 127);
}

template <typename T>
void score_floats(float* scores, const Query& query, const void* keys, const float*, uint32_t n, uint32_t size) {
    const T* key = static_cast<const T*>(keys);
    for (uint32_t j = 0; j < n; j += kWidth, key += size_t(kWidth) * size) {
        F sums[kWidth];
        for (int e = 0; e < kWidth; ++e) {
            F::prefetch(key + size_t(e + kWidth) * size);
            sums[e] = F::zero();
            for (uint32_t i = 0; i < size; i += kWidth)
                sums[e] = F::fma(F::load(key + size_t(e) * size + i), F::load(query.values + i), sums[e]);
        }
        F::store(scores + j, F::sums(sums));
    }
}

// kSize: the keys' length where the compiler is to know it, so that the query stays in registers; 0 for any other.
template <uint32_t kSize>
void score_i8_rows(float* scores, const Query& query, const int8_t* key, const float* scales, uint32_t n,
                   uint32_t any) {
    const uint32_t size = kSize ? kSize : any;
    const int16_t* const whole = query.whole;
    const F scale = F::set(query.scale);
    for (uint32_t j = 0; j < n; j += kWidth, key += size_t(kWidth) * size) {
        I sums[kWidth];
#pragma GCC unroll 16
        for (int e = 0; e < kWidth; ++e) {
            F::prefetch(key + size_t(e) * size + 2048);
            sums[e] = I::zero();
            for (uint32_t i = 0; i < size; i += 32) sums[e] = I::dot(sums[e], key + size_t(e) * size + i, whole + i);
        }
        F::store(scores + j, I::sums(sums) * (scale * F::load(scales + j)));
    }
}

void score_i8(float* scores, const Query& query, const void* keys, const float* scales, uint32_t n, uint32_t size) {
    const auto rows = size == 32 ? score_i8_rows<32> : size == 64 ? score_i8_rows<64> : score_i8_rows<0>;
    rows(scores, query, static_cast<const int8_t*>(keys), scales, n, size);
}

float soft(float* scores, uint32_t n, float* largest, float* sum) {
    for (uint32_t j = n; j % kWidth != 0; ++j) scores[j] = kNever;
    F tops = F::set(*largest);
    for (uint32_t j = 0; j < n; j += kWidth) tops = F::max(tops, F::load(scores + j));
    const float top = F::top(tops);
    F totals = F::zero();
    for (uint32_t j = 0; j < n; j += kWidth) {
        const F weight = exp_vector(F::load(scores + j) - F::set(top));
        F::store(scores + j, weight);
        totals = totals + weight;
    }
    alignas(64) float keep[kWidth];
    F::store(keep, exp_vector(F::set(*largest - top)));
    *sum = *sum * keep[0] + F::sum(totals);
    *largest = top;
    return keep[0];
}

// kWide values of the rows at a time, so that their sums stay in registers.
template <typename T, int kWide>
inline void mix_slice(float* out, float keep, const float* weights, const T* values, const float* scales, uint32_t n,
                      uint32_t size) {
    constexpr int kParts = kWide / kWidth;
    F sums[kParts];
    for (int i = 0; i < kParts; ++i) sums[i] = F::load(out + i * kWidth) * F::set(keep);
    const auto add = [&](float weight, const T* row) {
        F::prefetch(row + 2048 / sizeof(T));
        const F factor = F::set(weight);
        for (int i = 0; i < kParts; ++i) sums[i] = F::fma(factor, F::load(row + i * kWidth), sums[i]);
    };
    uint32_t j = 0;
    for (; j + kWidth <= n; j += kWidth) {
        alignas(64) float scaled[kWidth];  // together: one product at a time costs as much as a part of the row
        const float* factors = weights + j;
        if (scales) {
            F::store(scaled, F::load(factors) * F::load(scales + j));
            factors = scaled;
        }
#pragma GCC unroll 16
        for (int e = 0; e < kWidth; ++e) add(factors[e], values + size_t(j + e) * size);
    }
    for (; j < n; ++j) add(scales ? weights[j] * scales[j] : weights[j], values + size_t(j) * size);
    for (int i = 0; i < kParts; ++i) F::store(out + i * kWidth, sums[i]);
}

template <typename T, bool scaled>
void mix(float* out, float keep, const float* weights, const void* values, const float* scales, uint32_t n,
         uint32_t size) {
    const T* value = static_cast<const T*>(values);
    uint32_t i = 0;
    for (; i + 64 <= size; i += 64)
        mix_slice<T, 64>(out + i, keep, weights, value + i, scaled ? scales : nullptr, n, size);
    for (; i < size; i += 32) mix_slice<T, 32>(out + i, keep, weights, value + i, scaled ? scales : nullptr, n, size);
}
