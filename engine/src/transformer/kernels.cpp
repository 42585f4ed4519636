#include "transformer/kernels.h"

#include <cstdlib>
#include <cstring>

namespace stap {
namespace {

struct Implementation {
    const Kernels& kernels;
    bool (*runs_here)();
};

bool always() { return true; }

#if defined(STAP_HAVE_X86)
// (F16C cannot be asked for with every compiler; it is older than AVX2, and no processor has AVX2 and FMA without it.)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

// The fastest first. A new instruction set is a file of kernels and a line here.
constexpr Implementation kImplementations[] = {
#if defined(STAP_HAVE_X86)
    {kAvx512Kernels, has_avx512},
    {kAvx2Kernels, has_avx2},
#elif defined(STAP_HAVE_NEON)
    {kNeonKernels, always},
#endif
    {kScalarKernels, always},
};

}  // namespace

const Kernels* kernels_find(int wanted) {
    const char* name = wanted == STAP_KERNELS_BEST ? std::getenv("STAP_KERNELS") : nullptr;
    const Kernels* fastest = nullptr;
    for (const auto& [kernels, runs_here] : kImplementations) {
        if (!runs_here()) continue;
        if (kernels.id == wanted || (name && std::strcmp(kernels.name, name) == 0)) return &kernels;
        if (!fastest) fastest = &kernels;
    }
    return wanted == STAP_KERNELS_BEST ? fastest : nullptr;
}

}  // namespace stap
