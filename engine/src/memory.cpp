#include "memory.h"

#include <algorithm>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace stap {

size_t slab_size(size_t bytes) {
    const size_t unit = bytes < kLarge ? kAlign : kHugePage;
    return (std::max<size_t>(bytes, 1) + unit - 1) / unit * unit;
}

Buffer<uint8_t> slab_new(size_t bytes) {
    const size_t size = slab_size(bytes);
    void* memory = std::aligned_alloc(bytes < kLarge ? kAlign : kHugePage, size);
    if (!memory) throw std::bad_alloc();
#if defined(__linux__)
    if (bytes >= kLarge) madvise(memory, size, MADV_HUGEPAGE);  // a wish: when it is refused, nothing changes but speed
#endif
    return Buffer<uint8_t>(static_cast<uint8_t*>(memory));
}

}  // namespace stap
