#include "transformer/kernels.h"

namespace stap {
namespace {

#if defined(STAP_HAVE_X86)
// (F16C cannot be asked for with every compiler; it is older than AVX2, and no processor has AVX2 and FMA without it.)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

const Kernels* kernels_find(stap_kernels wanted) {
    switch (wanted) {
        case STAP_KERNELS_SCALAR: return &kScalarKernels;
#if defined(STAP_HAVE_X86)
        case STAP_KERNELS_AVX2: return has_avx2() ? &kAvx2Kernels : nullptr;
        case STAP_KERNELS_AVX512: return has_avx512() ? &kAvx512Kernels : nullptr;
        case STAP_KERNELS_BEST: return has_avx512() ? &kAvx512Kernels : has_avx2() ? &kAvx2Kernels : &kScalarKernels;
#elif defined(STAP_HAVE_NEON)
        case STAP_KERNELS_NEON:
        case STAP_KERNELS_BEST: return &kNeonKernels;
#else
        case STAP_KERNELS_BEST: return &kScalarKernels;
#endif
        default: return nullptr;
    }
}

}  // namespace stap
