// AVX-512 in plain C++, for kernels_avx512.cpp on processors without it: SIMDe, and by halves what older versions of it
// lack. Stands before the compiler's own header in that build of the file, which is otherwise the same.
#pragma once

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>

#undef _mm512_madd_epi16  // (0.7.4 takes it for its masked sister)
#define _mm512_madd_epi16 simde_mm512_madd_epi16
#if !defined(_MM_FROUND_NO_EXC)
#define _MM_FROUND_NO_EXC SIMDE_MM_FROUND_NO_EXC
#endif

#define STAP_LOW(a) simde_mm512_castsi512_si256(a)
#define STAP_HIGH(a) simde_mm512_extracti64x4_epi64(a, 1)

inline simde__m512i stap_join(simde__m256i low, simde__m256i high) {
    return simde_mm512_inserti64x4(simde_mm512_castsi256_si512(low), high, 1);
}
inline simde__m256 stap_half(simde__m512 a, int high) {
    const simde__m512i bits = simde_mm512_castps_si512(a);
    return simde_mm256_castsi256_ps(high ? STAP_HIGH(bits) : STAP_LOW(bits));
}
inline simde__m512 stap_join(simde__m256 low, simde__m256 high) {
    return simde_mm512_castsi512_ps(stap_join(simde_mm256_castps_si256(low), simde_mm256_castps_si256(high)));
}

#if !defined(_mm512_cvtepi8_epi32)
inline simde__m512i stap_cvtepi8_epi32(simde__m128i a) {
    return stap_join(simde_mm256_cvtepi8_epi32(a), simde_mm256_cvtepi8_epi32(simde_mm_bsrli_si128(a, 8)));
}
#define _mm512_cvtepi8_epi32 stap_cvtepi8_epi32
#endif

#if !defined(_mm512_cvtepi32_ps)
inline simde__m512 stap_cvtepi32_ps(simde__m512i a) {
    return stap_join(simde_mm256_cvtepi32_ps(STAP_LOW(a)), simde_mm256_cvtepi32_ps(STAP_HIGH(a)));
}
#define _mm512_cvtepi32_ps stap_cvtepi32_ps
#endif

#if !defined(_mm512_cvtps_epi32)
inline simde__m512i stap_cvtps_epi32(simde__m512 a) {
    return stap_join(simde_mm256_cvtps_epi32(stap_half(a, 0)), simde_mm256_cvtps_epi32(stap_half(a, 1)));
}
#define _mm512_cvtps_epi32 stap_cvtps_epi32
#endif

#if !defined(_mm512_cvtph_ps)
inline simde__m512 stap_cvtph_ps(simde__m256i a) {
    return stap_join(simde_mm256_cvtph_ps(simde_mm256_castsi256_si128(a)),
                     simde_mm256_cvtph_ps(simde_mm256_extracti128_si256(a, 1)));
}
#define _mm512_cvtph_ps stap_cvtph_ps
#endif

#if !defined(_mm512_cvtps_ph)
inline simde__m256i stap_cvtps_ph(simde__m512 a) {
    return simde_mm256_set_m128i(simde_mm256_cvtps_ph(stap_half(a, 1), 0), simde_mm256_cvtps_ph(stap_half(a, 0), 0));
}
#define _mm512_cvtps_ph(a, rounding) stap_cvtps_ph(a)
#endif

#if !defined(_mm512_reduce_add_ps)
template <typename T, typename Fold>
T stap_fold(const T (&values)[16], Fold fold) {  // halves onto each other, as the compilers do
    T left[16];
    for (int i = 0; i < 16; ++i) left[i] = values[i];
    for (int n = 8; n > 0; n /= 2)
        for (int i = 0; i < n; ++i) left[i] = fold(left[i], left[i + n]);
    return left[0];
}
inline float stap_reduce_add_ps(simde__m512 a) {
    float values[16];
    simde_mm512_storeu_ps(values, a);
    return stap_fold(values, [](float x, float y) { return x + y; });
}
inline float stap_reduce_max_ps(simde__m512 a) {
    float values[16];
    simde_mm512_storeu_ps(values, a);
    return stap_fold(values, [](float x, float y) { return x > y ? x : y; });
}
inline int32_t stap_reduce_add_epi32(simde__m512i a) {
    int32_t values[16];
    simde_mm512_storeu_si512(values, a);
    return stap_fold(values, [](int32_t x, int32_t y) { return x + y; });
}
#define _mm512_reduce_add_ps stap_reduce_add_ps
#define _mm512_reduce_max_ps stap_reduce_max_ps
#define _mm512_reduce_add_epi32 stap_reduce_add_epi32
#endif
