#include "transformer/cache.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstring>

#include "dtype.h"

namespace stap {

BlockLayout::BlockLayout(const Model& model, stap_dtype dtype_, uint32_t context)
    : dtype(dtype_), heads(model.config.heads), events(std::min(kBlock, (context + 15) / 16 * 16)) {
    row = size_t(model.sizes.head) * dtype_size(dtype);
    head = 2 * events * row + (dtype == STAP_I8 ? 2 * events * sizeof(float) : 0);
    bytes = head * heads * model.config.layers;
}

BlockLayout::Head BlockLayout::at(const Block& block, uint32_t layer, uint32_t h, uint32_t event) const {
    uint8_t* keys = block.data + (size_t(layer) * heads + h) * head;
    uint8_t* values = keys + events * row;
    float* scales = dtype == STAP_I8 ? reinterpret_cast<float*>(values + events * row) + event : nullptr;
    return {keys + event * row, values + event * row, scales, scales ? scales + events : nullptr};
}

std::unique_ptr<Block> Pool::take() {
    if (free.empty()) {
        auto block = std::make_unique<Block>();
        if (unused == 0) add_slab();
        block->data = slabs.back().get() + --unused * layout.bytes;
        std::memset(block->data, 0, layout.bytes);  // only now does the system give memory for it
        return block;
    }
    std::unique_ptr<Block> block = std::move(free.back());
    free.pop_back();
    block->any_hidden = false;
    return block;
}

void Pool::add_slab() {
    constexpr size_t kHugePage = size_t(2) << 20, kSlab = size_t(8) << 20, kSmall = size_t(256) << 10;
    const bool large = layout.bytes >= kSmall;
    const size_t count = large ? std::max<size_t>(1, kSlab / layout.bytes) : 1, unit = large ? kHugePage : kAlign;
    const size_t size = (count * layout.bytes + unit - 1) / unit * unit;
    slabs.reserve(slabs.size() + 1);
    void* memory = std::aligned_alloc(unit, size);
    if (!memory) throw std::bad_alloc();
#if defined(__linux__)
    if (large) madvise(memory, size, MADV_HUGEPAGE);  // a wish: when it is refused, nothing changes but speed
#endif
    slabs.emplace_back(static_cast<uint8_t*>(memory));
    unused = count;
    bytes += size;
}

void Cache::reserve(uint32_t events, Pool& pool) {
    const uint32_t size = pool.layout.events;
    while (events > (dropped / size + blocks.size()) * size) blocks.push_back(pool.take());
}

void Cache::drop(uint32_t events, Pool& pool) {
    const uint32_t size = pool.layout.events, before = dropped / size;
    dropped += events;
    for (uint32_t i = before; i < dropped / size && !blocks.empty(); ++i) {
        pool.give(std::move(blocks.front()));
        blocks.erase(blocks.begin());
    }
}

void Cache::hide(uint16_t app, Pool& pool) {
    const uint32_t size = pool.layout.events;
    for (uint32_t event = dropped; event < taken; ++event) {
        Block& block = block_of(event, size);
        if (block.app[event % size] != app) continue;
        block.app[event % size] = kHidden;
        block.any_hidden = true;
    }
}

void Cache::clear(uint64_t step, Pool& pool) {
    for (auto& block : blocks) pool.give(std::move(block));
    blocks.clear();
    first = step;
    taken = dropped = 0;
    origin = 0;
}

}  // namespace stap
