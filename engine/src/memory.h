// Aligned memory for vectors, zeroed: pads and fresh caches are exact zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

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

}  // namespace stap
