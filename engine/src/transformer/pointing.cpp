#include "transformer/pointing.h"

#include <algorithm>
#include <cmath>

namespace stap {

void PointingPass::place(const float* hidden, uint32_t n, int16_t* scratch) {
    const Pointing& w = *model.weights.pointing;
    const Config& c = model.config;
    const uint32_t width = model.sizes.pointing, head = model.sizes.head, size = pool.layout.events;
    kernels.matmul(state.qk.get(), 2 * width, hidden, model.sizes.d, n, w.qk, scratch);
    if (cache.taken == 0) std::fill_n(cache.last_pointing.get(), width, 0.0f);
    for (uint32_t i = 0; i < n; ++i) {
        float* query = state.qk.get() + size_t(i) * 2 * width;
        float* key = query + width;
        for (uint32_t k = 0; k < width; ++k) {
            const float own = key[k];
            key[k] += w.key_before[k] * cache.last_pointing[k];
            cache.last_pointing[k] = own;
        }
        const uint32_t event = cache.taken + i;
        for (uint32_t h = 0; h < c.pointing_heads; ++h) {
            kernels.rms_norm(query + h * head, query + h * head, w.ones.get(), c.head_dim(), head, float(c.norm_eps));
            kernels.rms_norm(key + h * head, key + h * head, w.ones.get(), c.head_dim(), head, float(c.norm_eps));
            const BlockLayout::Keys keys = pool.layout.pointing_at(cache.block_of(event, size), h, event % size);
            const float scale = kernels.store[pool.layout.dtype](keys.keys, key + h * head, head);
            if (keys.scales) *keys.scales = scale;
        }
    }
}

void PointingPass::speak(const float* hidden, uint32_t i, float* logits, int16_t* scratch) {
    const Pointing& w = *model.weights.pointing;
    const uint32_t heads = model.config.pointing_heads, head = model.sizes.head, size = pool.layout.events;
    const uint32_t vocabulary = model.sizes.vocabulary;
    float* queries = state.qk.get() + size_t(i) * 2 * model.sizes.pointing;
    for (uint32_t h = 0; h < heads; ++h) {  // on nothing, to begin with
        for (uint32_t k = 0; k < head; ++k) queries[h * head + k] *= w.sharpness[h];
        state.largest[h] = w.nothing[h];
        state.sum[h] = 1;
    }
    std::fill_n(state.share.get(), size_t(heads) * vocabulary, 0.0f);
    uint32_t opened = 0;  // usages since, while we look back
    for (uint32_t start = (cache.taken - 1) / size * size + size; start > cache.dropped / size * size;) {
        start -= size;
        opened = look_back(start, opened);
        for (uint32_t h = 0; h < heads; ++h) {
            Query query = {queries + h * head, state.whole.get(), 0};
            if (pool.layout.dtype == STAP_I8)
                query.scale = kernels.to_int16(state.whole.get(), query.values, head, int16_most(head));
            attend(h, query, start);
        }
    }
    kernels.matmul(state.gate.get(), padded(heads), hidden, model.sizes.d, 1, w.gate, scratch);
    for (uint32_t h = 0; h < heads; ++h)
        for (uint32_t v = 0; v < model.config.vocabulary; ++v) {
            const float share = state.share[size_t(h) * vocabulary + v] / state.sum[h];
            if (share > 0) logits[v] += (state.gate[h] + w.gate_bias[h]) * std::log1p(share * w.floor[h]);
        }
}

// How many usages ago each opening of a block was. The current app's, those of forgotten apps and closes are none.
uint32_t PointingPass::look_back(uint32_t start, uint32_t opened) {
    const uint32_t size = pool.layout.events, last = cache.taken - 1;
    const Block& block = cache.block_of(start, size);
    const uint16_t current = cache.block_of(last, size).app[last % size];
    const uint32_t from = cache.dropped > start ? cache.dropped - start : 0;
    for (uint32_t e = std::min(size, cache.taken - start); e-- > from;) {
        const bool opens = block.action[e] == STAP_OPEN;
        state.ago[e] = opens && block.app[e] != current && block.app[e] != kHidden ? float(opened) : kNever;
        opened += opens;
    }
    return opened;
}

// One head over one block, with a running softmax.
void PointingPass::attend(uint32_t h, const Query& query, uint32_t start) {
    const uint32_t size = pool.layout.events, from = cache.dropped > start ? cache.dropped - start : 0;
    const uint32_t n = std::min(size, cache.taken - start) - from, vocabulary = model.sizes.vocabulary;
    const Block& block = cache.block_of(start, size);
    const BlockLayout::Keys keys = pool.layout.pointing_at(block, h, from);
    float* scores = state.scores.get();
    kernels.score[pool.layout.dtype](scores, query, keys.keys, keys.scales, n, model.sizes.head);
    for (uint32_t e = 0; e < n; ++e) {
        const float ago = state.ago[from + e];
        scores[e] = ago == kNever ? kNever : scores[e] - ago * model.weights.pointing->fade[h];
    }
    const float keep = kernels.soft(scores, n, &state.largest[h], &state.sum[h]);
    float* share = state.share.get() + size_t(h) * vocabulary;
    if (keep != 1)
        for (uint32_t v = 0; v < vocabulary; ++v) share[v] *= keep;
    for (uint32_t e = 0; e < n; ++e)
        if (state.ago[from + e] != kNever) share[block.app[from + e]] += scores[e];
}

}  // namespace stap
