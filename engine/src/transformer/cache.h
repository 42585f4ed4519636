// Keys and values of past events, in blocks that are allocated when needed and handed from cache to cache.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "files/model.h"
#include "memory.h"

namespace stap {

constexpr uint32_t kBlock = 256;      // events; fewer when the context is shorter
constexpr uint16_t kHidden = 0xffff;  // instead of an index: nothing attends to the event any more

struct Block {
    uint8_t* data = nullptr;      // in one of the pool's slabs
    uint16_t app[kBlock] = {};    // the virtual index of each event, or kHidden
    uint8_t action[kBlock] = {};  // of each event
    bool any_hidden = false;
};

// Where things are in a block of n events: for every layer and head its keys (n, D), values (n, D) and the scales (n)
// of both, one after the other, so that attention reads forward through memory. Then the keys of the pointing head.
struct BlockLayout {
    struct Head {
        uint8_t *keys, *values;
        float *key_scales, *value_scales;  // of int8, else null
    };
    struct Keys {
        uint8_t* keys;
        float* scales;  // of int8, else null
    };
    stap_dtype dtype;
    uint32_t heads;
    uint32_t events;  // n, a multiple of 16
    size_t row;       // bytes of one key or value
    size_t head;      // bytes of one head of one layer
    size_t layers;    // bytes of all layers: where the pointing head's keys begin
    size_t pointing;  // bytes of one of its heads
    size_t kept;      // bytes of all this
    size_t bytes;     // of a block: kernels read up to 15 rows past the last head's keys

    BlockLayout(const Model& model, stap_dtype dtype, uint32_t context);
    Head at(const Block& block, uint32_t layer, uint32_t h, uint32_t event) const;  // from this event of the block on
    Keys pointing_at(const Block& block, uint32_t h, uint32_t event) const;
};

// The blocks of a session: those nobody uses wait here. Large ones come several to a slab that the system may back with
// huge pages: attention reads all of them for every event, and of its time a fifth would go into looking up small ones.
struct Pool {
    BlockLayout layout;
    std::vector<std::unique_ptr<Block>> free;
    std::vector<Buffer<uint8_t>> slabs;
    size_t bytes = 0;   // of all slabs
    size_t unused = 0;  // blocks of the last slab that were never taken

    explicit Pool(const BlockLayout& layout_) : layout(layout_) {}
    std::unique_ptr<Block> take();
    void give(std::unique_ptr<Block> block) { free.push_back(std::move(block)); }

   private:
    void add_slab();
};

// Events first, first + 1, ... of the session, as one sequence. Of these `taken` were computed, and the first `dropped`
// of those evicted again.
struct Cache {
    std::vector<std::unique_ptr<Block>> blocks;
    uint64_t first = 0;  // the step of its event 0
    uint32_t taken = 0;
    uint32_t dropped = 0;         // (rolling only)
    double origin = 0;            // minutes of its event 0: angles count from here
    Buffer<float> last;           // (layers, H * D) its last event's keys, before mixing; null where keys are not mixed
    Buffer<float> last_pointing;  // (P * D) the same of the pointing head

    // The block that holds an event, when blocks hold `size` of them.
    Block& block_of(uint32_t event, uint32_t size) const { return *blocks[event / size - dropped / size]; }
    void reserve(uint32_t events, Pool& pool);  // room for events 0..events-1
    void drop(uint32_t events, Pool& pool);     // evict so many of the oldest
    void hide(uint16_t app, Pool& pool);        // all its events so far: the index will mean another app
    void clear(uint64_t step, Pool& pool);      // empty; its event 0 will be that of `step`
};

}  // namespace stap
