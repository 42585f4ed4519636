// AVX2, FMA and F16C: 8 floats, 16 int16 products at a time.
#include <immintrin.h>

#include "transformer/kernels.h"

namespace stap {
namespace {

constexpr int kWidth = 8;

struct F {
    __m256 v;
    static F load(const float* p) { return {_mm256_loadu_ps(p)}; }
    static F load(const uint16_t* p) { return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))}; }
    static F load(const int8_t* p) {
        return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))))};
    }
    static F set(float x) { return {_mm256_set1_ps(x)}; }
    static F zero() { return {_mm256_setzero_ps()}; }
    static void store(float* p, F a) { _mm256_storeu_ps(p, a.v); }
    static void store_half(uint16_t* p, F a) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                         _mm256_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    static F max(F a, F b) { return {_mm256_max_ps(a.v, b.v)}; }
    static F min(F a, F b) { return {_mm256_min_ps(a.v, b.v)}; }
    static F fma(F a, F b, F c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
    static F abs(F a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
    static F nearest(F a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
    static F power(F n) {
        return {_mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127)), 23))};
    }
    static F zero_below(F a, F x, F least) { return {_mm256_and_ps(a.v, _mm256_cmp_ps(x.v, least.v, _CMP_GE_OQ))}; }
    static void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
    static float sum(F a) {
        __m128 s = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
        s = _mm_add_ps(s, _mm_movehl_ps(s, s));
        return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
    }
    static float top(F a) {
        __m128 s = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
        s = _mm_max_ps(s, _mm_movehl_ps(s, s));
        return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
    }
    static F sums(const F* a) {
        const __m256 low = _mm256_hadd_ps(_mm256_hadd_ps(a[0].v, a[1].v), _mm256_hadd_ps(a[2].v, a[3].v));
        const __m256 high = _mm256_hadd_ps(_mm256_hadd_ps(a[4].v, a[5].v), _mm256_hadd_ps(a[6].v, a[7].v));
        return {_mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31))};
    }
    static __m128i to_16(F a) {
        const __m256i whole = _mm256_cvtps_epi32(a.v);
        return _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    }
    static void to_whole(int16_t* p, F a) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), to_16(a)); }
    static void to_whole(int8_t* p, F a) {
        const __m128i pairs = to_16(a);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(pairs, pairs));
    }
};

struct I {
    __m256i v;
    static I zero() { return {_mm256_setzero_si256()}; }
    static I dot(I sum, const int8_t* a, const int16_t* b) {
        const __m256i low = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)));
        const __m256i high = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + 16)));
        const __m256i* whole = reinterpret_cast<const __m256i*>(b);
        const __m256i first = _mm256_madd_epi16(low, _mm256_loadu_si256(whole));
        return {
            _mm256_add_epi32(sum.v, _mm256_add_epi32(first, _mm256_madd_epi16(high, _mm256_loadu_si256(whole + 1))))};
    }
    static int32_t sum(I a) {
        __m128i s = _mm_add_epi32(_mm256_castsi256_si128(a.v), _mm256_extracti128_si256(a.v, 1));
        s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
        return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
    }
    static F sums(const I* a) {
        const __m256i low = _mm256_hadd_epi32(_mm256_hadd_epi32(a[0].v, a[1].v), _mm256_hadd_epi32(a[2].v, a[3].v));
        const __m256i high = _mm256_hadd_epi32(_mm256_hadd_epi32(a[4].v, a[5].v), _mm256_hadd_epi32(a[6].v, a[7].v));
        return {_mm256_cvtepi32_ps(
            _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31)))};
    }
};

#include "transformer/kernels_simd.inl"

}  // namespace

const Kernels kAvx2Kernels = STAP_KERNEL_TABLE(STAP_KERNELS_AVX2, "avx2");

}  // namespace stap
