#include "transformer/cache.h"

#include <algorithm>
#include <cstring>

#include "dtype.h"

namespace stap {

BlockLayout::BlockLayout(const Model& model, stap_dtype dtype_, uint32_t context)
    : dtype(dtype_), heads(model.config.heads), events(std::min(kBlock, (context + 15) / 16 * 16)) {
    row = size_t(model.sizes.head) * dtype_size(dtype);
    head = 2 * events * row + (dtype == STAP_I8 ? 2 * events * sizeof(float) : 0);
    layers = head * heads * model.config.layers;
    pointing = events * row + (dtype == STAP_I8 ? events * sizeof(float) : 0);
    kept = layers + pointing * model.config.pointing_heads;
    bytes = kept + (model.config.pointing_heads ? 16 * (row + sizeof(float)) : 0);
}

BlockLayout::Head BlockLayout::at(const Block& block, uint32_t layer, uint32_t h, uint32_t event) const {
    uint8_t* keys = block.data + (size_t(layer) * heads + h) * head;
    uint8_t* values = keys + events * row;
    float* scales = dtype == STAP_I8 ? reinterpret_cast<float*>(values + events * row) + event : nullptr;
    return {keys + event * row, values + event * row, scales, scales ? scales + events : nullptr};
}

BlockLayout::Keys BlockLayout::pointing_at(const Block& block, uint32_t h, uint32_t event) const {
    uint8_t* keys = block.data + layers + h * pointing;
    return {keys + event * row, dtype == STAP_I8 ? reinterpret_cast<float*>(keys + events * row) + event : nullptr};
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
    constexpr size_t kSlab = size_t(8) << 20, kSmall = size_t(256) << 10;
    const size_t count = layout.bytes < kSmall ? 1 : std::max<size_t>(1, kSlab / layout.bytes);
    slabs.reserve(slabs.size() + 1);
    slabs.push_back(slab_new(count * layout.bytes));
    unused = count;
    bytes += slab_size(count * layout.bytes);
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
