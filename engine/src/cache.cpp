#include "cache.h"

#include <algorithm>
#include <cstring>

namespace stap {

BlockLayout::BlockLayout(const Model& model, stap_dtype dtype_, uint32_t context)
    : dtype(dtype_), heads(model.config.heads), events(std::min(kBlock, (context + 15) / 16 * 16)) {
    row = size_t(model.sizes.head) * (dtype == STAP_F32 ? 4 : dtype == STAP_F16 ? 2 : 1);
    head = 2 * events * row + (dtype == STAP_I8 ? 2 * events * sizeof(float) : 0);
    bytes = head * heads * model.config.layers;
}

std::unique_ptr<Block> Pool::take() {
    if (free.empty()) {
        auto block = std::make_unique<Block>();
        block->data = buffer_new<uint8_t>(layout.bytes);
        ++allocated;
        return block;
    }
    std::unique_ptr<Block> block = std::move(free.back());
    free.pop_back();
    std::memset(block->hidden, 0, sizeof block->hidden);
    block->any_hidden = false;
    return block;
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

void Cache::clear(uint64_t step, Pool& pool) {
    for (auto& block : blocks) pool.give(std::move(block));
    blocks.clear();
    first = step;
    taken = dropped = 0;
    origin = 0;
}

}  // namespace stap
