// A quick 64-bit hash: tells files and snapshots apart, guards against accidents, not against malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stap {

inline uint64_t hash_mix(uint64_t x) {  // splitmix64's finaliser
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

inline uint64_t hash_bytes(const void* data, size_t size, uint64_t hash) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    hash ^= size * 0x9E3779B97F4A7C15u;
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        std::memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x9FB21C651E98DF25u;
        hash ^= hash >> 32;
    }
    uint64_t word = 0;
    if (size) std::memcpy(&word, bytes, size);
    return hash_mix(hash ^ word);
}

}  // namespace stap
