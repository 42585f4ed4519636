// Aligned memory for vectors and matrices, zeroed: pads and fresh caches are exact zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "stap.h"

namespace stap {

constexpr size_t kAlign = 64;
constexpr uint32_t kPad = 32;  // every vector's length is rounded up to this: kernels have no tails

constexpr uint32_t padded(uint32_t n) { return (n + kPad - 1) / kPad * kPad; }

struct Freer {
    void operator()(void* memory) const { std::free(memory); }
};

template <typename T>
using Buffer = std::unique_ptr<T[], Freer>;

template <typename T>
Buffer<T> buffer_new(size_t count) {
    const size_t bytes = (count * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    void* memory = std::aligned_alloc(kAlign, bytes ? bytes : kAlign);
    if (!memory) throw std::bad_alloc();
    std::memset(memory, 0, bytes);
    return Buffer<T>(static_cast<T*>(memory));
}

// The same, its size added to `bytes`.
template <typename T>
Buffer<T> buffer_counted(size_t count, uint64_t& bytes) {
    bytes += count * sizeof(T);
    return buffer_new<T>(count);
}

// Memory for what every event reads through, not zeroed. From kLarge on it is aligned to huge pages, and the system is
// asked to back it with them: a fifth of the time would go into looking up small ones. A smaller one costs no page
// more.
constexpr size_t kHugePage = size_t(2) << 20, kLarge = size_t(4) << 20;
size_t slab_size(size_t bytes);  // with what rounding adds
Buffer<uint8_t> slab_new(size_t bytes);

// A weight matrix, rows x cols, row-major.
struct Matrix {
    stap_dtype dtype;
    const void* data;    // float, half (uint16_t) or int8_t
    const float* scale;  // (rows,) of int8: value = scale[row] * stored
    uint32_t rows, cols;
};

}  // namespace stap
