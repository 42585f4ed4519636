// AVX-512 (F, BW, DQ, VL): 16 floats, 32 int16 products at a time.
#include <immintrin.h>

#include "transformer/kernels.h"

namespace stap {
namespace {

constexpr int kWidth = 16;

struct F {
    __m512 v;
    static F load(const float* p) { return {_mm512_loadu_ps(p)}; }
    static F load(const uint16_t* p) {
        return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
    }
    static F load(const int8_t* p) {
        return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
    }
    static F set(float x) { return {_mm512_set1_ps(x)}; }
    static F zero() { return {_mm512_setzero_ps()}; }
    static void store(float* p, F a) { _mm512_storeu_ps(p, a.v); }
    static void store_half(uint16_t* p, F a) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                            _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    static F max(F a, F b) { return {_mm512_max_ps(a.v, b.v)}; }
    static F min(F a, F b) { return {_mm512_min_ps(a.v, b.v)}; }
    static F fma(F a, F b, F c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
    static F abs(F a) { return {_mm512_abs_ps(a.v)}; }
    static F nearest(F a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
    static F power(F n) {
        return {_mm512_castsi512_ps(
            _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n.v), _mm512_set1_epi32(127)), 23))};
    }
    static F zero_below(F a, F x, F least) {
        return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x.v, least.v, _CMP_GE_OQ), a.v)};
    }
    static void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
    static float sum(F a) { return _mm512_reduce_add_ps(a.v); }
    static float top(F a) { return _mm512_reduce_max_ps(a.v); }
    static F sums(const F* a) {
        alignas(64) float out[16];
        for (int i = 0; i < 16; ++i) out[i] = sum(a[i]);
        return load(out);
    }
    static void to_whole(int16_t* p, F a) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(a.v)));
    }
    static void to_whole(int8_t* p, F a) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(a.v)));
    }
};

struct I {
    __m512i v;
    static I zero() { return {_mm512_setzero_si512()}; }
    static I dot(I sum, const int8_t* a, const int16_t* b) {
        const __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)));
        return {_mm512_add_epi32(sum.v, _mm512_madd_epi16(wide, _mm512_loadu_si512(b)))};
    }
    static int32_t sum(I a) { return _mm512_reduce_add_epi32(a.v); }
    static F sums(const I* a) {  // fold to 256 bits, then add neighbours: two groups of eight
        __m256i half[16];
        for (int i = 0; i < 16; ++i)
            half[i] = _mm256_add_epi32(_mm512_castsi512_si256(a[i].v), _mm512_extracti64x4_epi64(a[i].v, 1));
        return {_mm512_cvtepi32_ps(_mm512_inserti64x4(_mm512_castsi256_si512(eight(half)), eight(half + 8), 1))};
    }
    static __m256i eight(const __m256i* a) {
        const __m256i low = _mm256_hadd_epi32(_mm256_hadd_epi32(a[0], a[1]), _mm256_hadd_epi32(a[2], a[3]));
        const __m256i high = _mm256_hadd_epi32(_mm256_hadd_epi32(a[4], a[5]), _mm256_hadd_epi32(a[6], a[7]));
        return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31));
    }
};

#include "transformer/kernels_simd.inl"

}  // namespace

const Kernels kAvx512Kernels = STAP_KERNEL_TABLE(STAP_KERNELS_AVX512, "avx512");

}  // namespace stap
