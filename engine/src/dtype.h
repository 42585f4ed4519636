// How numbers are kept: the size of each dtype, and IEEE half precision in software (for loader and scalar kernels).
#pragma once

#include <cstdint>
#include <cstring>

#include "stap.h"

namespace stap {

constexpr size_t dtype_size(stap_dtype dtype) { return dtype == STAP_F32 ? 4 : dtype == STAP_F16 ? 2 : 1; }

inline float half_to_float(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu, bits;
    if (exponent == 0x1f) {
        bits = sign | 0x7f800000u | (mantissa << 13);
    } else if (exponent != 0) {
        bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
    } else if (mantissa == 0) {
        bits = sign;
    } else {  // subnormal: shift until the leading one stands before the point
        exponent = 113;
        for (; (mantissa & 0x400u) == 0; mantissa <<= 1) --exponent;
        bits = sign | (exponent << 23) | ((mantissa & 0x3ffu) << 13);
    }
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

// Round to nearest, ties to even; too large becomes the largest finite half, so that a cache never holds an infinity.
inline uint16_t half_from_float(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    const uint16_t sign = uint16_t((bits >> 16) & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return sign;  // NaN becomes zero
    if (bits >= 0x477ff000u) return uint16_t(sign | 0x7bffu);
    if (bits < 0x38800000u) {  // subnormal half or zero
        if (bits < 0x33000000u) return sign;
        const uint32_t shift = 126 - (bits >> 23), mantissa = (bits & 0x7fffffu) | 0x800000u;
        const uint32_t cut = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
        return uint16_t(sign | (cut + (rest > middle || (rest == middle && (cut & 1)) ? 1 : 0)));
    }
    const uint32_t rounded = bits + 0xfffu + ((bits >> 13) & 1u);
    return uint16_t(sign | ((rounded - 0x38000000u) >> 13));
}

}  // namespace stap
