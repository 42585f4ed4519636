// Every instruction set against the scalar kernels, and every batch against single events.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"
#include "dtype.h"
#include "hash.h"
#include "memory.h"
#include "transformer/kernels.h"

#if defined(STAP_EMULATE_AVX512)
namespace stap {
extern const Kernels kEmulatedAvx512Kernels;
}
#endif

namespace {

using namespace stap;

std::vector<float> noise(size_t count, uint64_t seed, float scale = 1) {
    std::vector<float> values(count);
    for (float& value : values) value = scale * float(double((seed = hash_mix(seed)) >> 11) / double(1ull << 52) - 1);
    return values;
}

struct Stored {
    std::vector<float> f32;
    std::vector<uint16_t> f16;
    std::vector<int8_t> i8;
    std::vector<float> scales;

    Stored(uint32_t rows, uint32_t cols, uint64_t seed) : f32(noise(size_t(rows) * cols, seed)) {
        for (float value : f32) {
            f16.push_back(half_from_float(value));
            i8.push_back(int8_t(value * 127));
        }
        scales = noise(rows + 16, seed + 1, 0.001f);
        for (float& scale : scales) scale = std::fabs(scale) + 0.007f;
    }
    const void* data(int dtype) const {
        return dtype == STAP_F32   ? static_cast<const void*>(f32.data())
               : dtype == STAP_F16 ? static_cast<const void*>(f16.data())
                                   : i8.data();
    }
};

float worst(const std::vector<float>& a, const std::vector<float>& b, size_t count) {
    float most = 0;
    for (size_t i = 0; i < count; ++i) most = std::max(most, std::fabs(a[i] - b[i]));
    return most;
}

void matmul_agrees(const Kernels& k) {
    for (uint32_t cols : {32u, 64u, 256u, 768u}) {
        const uint32_t rows = 64, n = 7;
        const Stored w(rows, cols, cols);
        const std::vector<float> x = noise(n * cols, 5);
        std::vector<int16_t> scratch(n * cols);
        for (int dtype = 0; dtype < 3; ++dtype) {
            const Matrix m = {stap_dtype(dtype), w.data(dtype), w.scales.data(), rows, cols};
            std::vector<float> found(n * rows), wanted(n * rows), alone(rows);
            k.matmul(found.data(), rows, x.data(), cols, n, m, scratch.data());
            kScalarKernels.matmul(wanted.data(), rows, x.data(), cols, n, m, scratch.data());
            CHECK(worst(found, wanted, found.size()) < 2e-5f * std::sqrt(float(cols)));
            for (uint32_t i = 0; i < n; ++i) {
                k.matmul(alone.data(), rows, x.data() + i * cols, cols, 1, m, scratch.data());
                CHECK(std::memcmp(alone.data(), found.data() + i * rows, rows * sizeof(float)) == 0);
            }
        }
    }
}

void attention_agrees(const Kernels& k) {
    for (uint32_t size : {32u, 64u, 96u, 128u})
        for (uint32_t n : {1u, 7u, 16u, 100u, 256u}) {
            const Stored keys(n + 16, size, n), values(n + 16, size, n + 1);
            const std::vector<float> query = noise(size, 9);
            std::vector<int16_t> whole(size), whole_wanted(size);
            const float scale = k.to_int16(whole.data(), query.data(), size, int16_most(size));
            CHECK(scale == kScalarKernels.to_int16(whole_wanted.data(), query.data(), size, int16_most(size)) &&
                  whole == whole_wanted);
            const Query q = {query.data(), whole.data(), scale};
            for (int dtype = 0; dtype < 3; ++dtype) {
                std::vector<float> found(n + 16), wanted(n + 16), out(size, 0.5f), out_wanted(size, 0.5f);
                k.score[dtype](found.data(), q, keys.data(dtype), keys.scales.data(), n, size);
                kScalarKernels.score[dtype](wanted.data(), q, keys.data(dtype), keys.scales.data(), n, size);
                CHECK(worst(found, wanted, n) < 1e-4f);
                float top = 0.1f, sum = 2, top_wanted = 0.1f, sum_wanted = 2;
                const float keep = k.soft(found.data(), n, &top, &sum),
                            keep_wanted = kScalarKernels.soft(wanted.data(), n, &top_wanted, &sum_wanted);
                CHECK(std::fabs(keep - keep_wanted) < 1e-4f && std::fabs(sum / sum_wanted - 1) < 1e-4f);
                k.mix[dtype](out.data(), keep, found.data(), values.data(dtype), values.scales.data(), n, size);
                kScalarKernels.mix[dtype](out_wanted.data(), keep_wanted, wanted.data(), values.data(dtype),
                                          values.scales.data(), n, size);
                CHECK(worst(out, out_wanted, size) < 1e-3f);
            }
        }
}

void stores_agree(const Kernels& k) {
    for (float scale : {0.0f, 1e-38f, 1e-6f, 1.0f, 1e4f, 1e6f, 1e35f}) {
        const std::vector<float> x = noise(64, 3, scale);
        for (int dtype = 0; dtype < 3; ++dtype) {
            uint8_t found[256] = {}, wanted[256] = {};
            const float a = k.store[dtype](found, x.data(), 64), b = kScalarKernels.store[dtype](wanted, x.data(), 64);
            CHECK(a == b);
            CHECK(std::memcmp(found, wanted, sizeof found) == 0);
        }
    }
}

void small_ones_agree(const Kernels& k) {
    const std::vector<float> x = noise(96, 1), weight = noise(96, 2), up = noise(96, 4);
    std::vector<float> found(96), wanted(96), gate = noise(96, 3, 120), gate_wanted = gate;
    k.rms_norm(found.data(), x.data(), weight.data(), 96, 96, 1e-5f);
    kScalarKernels.rms_norm(wanted.data(), x.data(), weight.data(), 96, 96, 1e-5f);
    CHECK(worst(found, wanted, 96) < 1e-5f);
    k.silu_mul(gate.data(), up.data(), 96);
    kScalarKernels.silu_mul(gate_wanted.data(), up.data(), 96);
    CHECK(worst(gate, gate_wanted, 96) < 1e-4f);
}

// exp through soft: the scores' exponentials against the library's, over the whole range.
void exponentials_agree(const Kernels& k) {
    for (float x = 0; x > -120; x -= 0.37f) {
        std::vector<float> scores(32, x);
        float top = 0, sum = 0;
        k.soft(scores.data(), 1, &top, &sum);
        const double wanted = std::exp(double(x));
        CHECK(std::fabs(double(scores[0]) - wanted) <= 3e-7 * wanted + 1.3e-38);
    }
}

void halves_round_trip() {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const uint16_t half = uint16_t(bits);
        if ((half & 0x7c00) == 0x7c00) continue;  // infinities and NaN: never stored
        CHECK(half_from_float(half_to_float(half)) == half);
    }
    CHECK(half_from_float(1e9f) == 0x7bff && half_from_float(-INFINITY) == 0xfbff && half_from_float(NAN) == 0);
    CHECK(half_from_float(1 + 1.0f / 2048) == 0x3c00 && half_from_float(1 + 3.0f / 2048) == 0x3c02);  // ties to even
}

// STAP_KERNELS names what the best is; a name that says nothing here changes nothing, nor does any for those asked for.
void the_environment_chooses() {
    unsetenv("STAP_KERNELS");
    const Kernels* best = kernels_find(STAP_KERNELS_BEST);
    CHECK(best != nullptr);
    setenv("STAP_KERNELS", "scalar", 1);
    CHECK(kernels_find(STAP_KERNELS_BEST) == &kScalarKernels && kernels_find(best->id) == best);
    for (const char* name : {"", "sse9", "best"}) {
        setenv("STAP_KERNELS", name, 1);
        CHECK(kernels_find(STAP_KERNELS_BEST) == best);
    }
    unsetenv("STAP_KERNELS");
    for (int id : {-1, 17, 1 << 30}) CHECK(kernels_find(id) == nullptr);
}

void all_agree(const Kernels& k, const char* how) {
    std::printf("%s%s\n", k.name, how);
    matmul_agrees(k);
    attention_agrees(k);
    stores_agree(k);
    small_ones_agree(k);
    exponentials_agree(k);
}

}  // namespace

int main() {
    halves_round_trip();
    the_environment_chooses();
    for (int id = 1; id < 100; ++id)
        if (const Kernels* k = kernels_find(id)) all_agree(*k, "");
#if defined(STAP_EMULATE_AVX512)
    all_agree(kEmulatedAvx512Kernels, ", emulated");
#endif
    return failures != 0;
}
