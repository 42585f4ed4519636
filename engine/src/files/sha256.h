// SHA-256 (FIPS 180-4), for the hashes that a model file may carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace stap {

class Sha256 {
   public:
    void add(const void* data, size_t size);
    std::string hex();  // of all that was added; then it is used up

   private:
    void take(const uint8_t* block);

    uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint64_t size_ = 0;  // bytes so far
    uint8_t rest_[64];   // the last size_ % 64 of them
};

}  // namespace stap
