// NEON on aarch64, as every such processor has it: 4 floats, 8 int16 products at a time.
#include <arm_neon.h>

#include "transformer/kernels.h"

namespace stap {
namespace {

constexpr int kWidth = 4;

struct F {
    float32x4_t v;
    static F load(const float* p) { return {vld1q_f32(p)}; }
    static F load(const uint16_t* p) { return {vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))}; }
    static F load(const int8_t* p) {
        int32_t four;
        __builtin_memcpy(&four, p, 4);
        const int8x8_t bytes = vreinterpret_s8_s32(vdup_n_s32(four));
        return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes))))};
    }
    static F set(float x) { return {vdupq_n_f32(x)}; }
    static F zero() { return {vdupq_n_f32(0)}; }
    static void store(float* p, F a) { vst1q_f32(p, a.v); }
    static void store_half(uint16_t* p, F a) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a.v))); }
    static F max(F a, F b) { return {vmaxq_f32(a.v, b.v)}; }
    static F min(F a, F b) { return {vminq_f32(a.v, b.v)}; }
    static F fma(F a, F b, F c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
    static F abs(F a) { return {vabsq_f32(a.v)}; }
    static F nearest(F a) { return {vrndnq_f32(a.v)}; }
    static F power(F n) {
        return {vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n.v), vdupq_n_s32(127)), 23))};
    }
    static F zero_below(F a, F x, F least) {
        return {vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a.v), vcgeq_f32(x.v, least.v)))};
    }
    static void prefetch(const void* p) { __builtin_prefetch(p); }
    static float sum(F a) { return vaddvq_f32(a.v); }
    static float top(F a) { return vmaxvq_f32(a.v); }
    static F sums(const F* a) { return {vpaddq_f32(vpaddq_f32(a[0].v, a[1].v), vpaddq_f32(a[2].v, a[3].v))}; }
    static void to_whole(int16_t* p, F a) { vst1_s16(p, vqmovn_s32(vcvtq_s32_f32(a.v))); }
    static void to_whole(int8_t* p, F a) {
        const int16x4_t pairs = vqmovn_s32(vcvtq_s32_f32(a.v));
        const int32_t four = vget_lane_s32(vreinterpret_s32_s8(vqmovn_s16(vcombine_s16(pairs, pairs))), 0);
        __builtin_memcpy(p, &four, 4);
    }
};

struct I {
    int32x4_t v;
    static I zero() { return {vdupq_n_s32(0)}; }
    static I dot(I sum, const int8_t* a, const int16_t* b) {
        int32x4_t s = sum.v;
        for (int i = 0; i < 32; i += 8) {
            const int16x8_t wide = vmovl_s8(vld1_s8(a + i)), whole = vld1q_s16(b + i);
            s = vmlal_s16(s, vget_low_s16(wide), vget_low_s16(whole));
            s = vmlal_high_s16(s, wide, whole);
        }
        return {s};
    }
    static int32_t sum(I a) { return vaddvq_s32(a.v); }
    static F sums(const I* a) {
        return {vcvtq_f32_s32(vpaddq_s32(vpaddq_s32(a[0].v, a[1].v), vpaddq_s32(a[2].v, a[3].v)))};
    }
};

#include "transformer/kernels_simd.inl"

}  // namespace

const Kernels kNeonKernels = STAP_KERNEL_TABLE(STAP_KERNELS_NEON, "neon");

}  // namespace stap
