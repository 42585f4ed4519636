#include "transformer/forward.h"

#include <algorithm>
#include <cmath>

namespace stap {
namespace {

constexpr double kTurn = 6.283185307179586476925286766559;

struct Pass {
    const Model& model;
    const Kernels& kernels;
    RunState& state;
    Pool& pool;
    Cache& cache;
    const Event* events;
    uint32_t n;
    const Sizes& sizes = model.sizes;
    const uint32_t size = pool.layout.events;  // of a block

    // x = app + action + hour, each with W_f multiplied in.
    void embed() {
        const Weights& w = model.weights;
        for (uint32_t i = 0; i < n; ++i) {
            const Event& event = events[i];
            const float* app = w.app.get() + size_t(event.app) * sizes.d;
            const float* action = w.action.get() + size_t(event.action) * sizes.d;
            const float angle = event.hour * float(kTurn / 24), s = std::sin(angle), c = std::cos(angle);
            float* x = state.x.get() + size_t(i) * sizes.d;
            for (uint32_t k = 0; k < sizes.d; ++k)
                x[k] = app[k] + action[k] + (s * w.hour[k] + c * w.hour[sizes.d + k]);
            if (w.fusion) add_moment(*w.fusion, event.moment, x);
        }
    }

    void add_moment(const Fusion& fusion, const float* moment, float* x) {
        float values[padded(kMomentValues)] = {};
        fusion.moment.apply(moment, fusion.shape.moments, values);
        kernels.matmul(state.normed.get(), sizes.d, values, padded(kMomentValues), 1, fusion.embed_moment,
                       state.whole.get());
        for (uint32_t k = 0; k < sizes.d; ++k) x[k] += state.normed[k];
    }

    // Angles in double until they are within one turn: exact for years of minutes.
    void turn() {
        const uint32_t half = model.config.head_dim() / 2;
        for (uint32_t i = 0; i < n; ++i) {
            const double minutes = events[i].minutes - cache.origin, index = double(cache.taken + i);
            float* cos = state.cos.get() + size_t(i) * 2 * half;
            float* sin = state.sin.get() + size_t(i) * 2 * half;
            for (uint32_t k = 0; k < half; ++k) {
                set_turn(cos + k, sin + k, minutes * model.time_turn[k]);
                if (model.config.ordinal_heads) set_turn(cos + half + k, sin + half + k, index * model.ordinal_turn[k]);
            }
        }
    }

    static void set_turn(float* cos, float* sin, double angle) {
        angle = std::fmod(angle, kTurn);
        if (angle < 0) angle += kTurn;
        *cos = std::cos(float(angle));
        *sin = std::sin(float(angle));
    }

    // The pair (x_k, x_{k + D/2}) turns by the k-th angle.
    void rotate(float* x, const float* cos, const float* sin) const {
        const uint32_t half = model.config.head_dim() / 2;
        for (uint32_t k = 0; k < half; ++k) {
            const float a = x[k], b = x[k + half];
            x[k] = a * cos[k] - b * sin[k];
            x[k + half] = a * sin[k] + b * cos[k];
        }
    }

    // Every key takes its share of the one before; the first event has none before it.
    void mix_keys(uint32_t number, const Layer& layer) {
        float* last = cache.last.get() + size_t(number) * sizes.attention;
        if (cache.taken == 0) std::fill_n(last, sizes.attention, 0.0f);
        for (uint32_t i = 0; i < n; ++i) {
            float* key = query_of(i, 0) + sizes.attention;
            for (uint32_t k = 0; k < sizes.attention; ++k) {
                const float own = key[k];
                key[k] += layer.key_before[k] * last[k];
                last[k] = own;
            }
        }
    }

    // Queries ready to score, keys and values into the cache.
    void place(uint32_t number, const Layer& layer) {
        const Config& c = model.config;
        const uint32_t half = c.head_dim() / 2;
        const float scale = 1 / std::sqrt(float(c.head_dim())), eps = float(c.norm_eps);
        for (uint32_t i = 0; i < n; ++i)
            for (uint32_t h = 0; h < c.heads; ++h) {
                const size_t turn = size_t(i) * 2 * half + (h >= c.heads - c.ordinal_heads ? half : 0);
                float* query = query_of(i, h);
                float* key = query + sizes.attention;
                if (layer.query_norm) {
                    kernels.rms_norm(query, query, layer.query_norm.get(), c.head_dim(), sizes.head, eps);
                    kernels.rms_norm(key, key, layer.key_norm.get(), c.head_dim(), sizes.head, eps);
                }
                rotate(query, state.cos.get() + turn, state.sin.get() + turn);
                rotate(key, state.cos.get() + turn, state.sin.get() + turn);
                for (uint32_t k = 0; k < sizes.head; ++k) query[k] *= scale;
                int16_t* whole = state.whole_query.get() + head_of(i, h);
                if (pool.layout.dtype == STAP_I8)
                    state.query_scale[size_t(i) * c.heads + h] =
                        kernels.to_int16(whole, query, sizes.head, int16_most(sizes.head));
                store(number, h, cache.taken + i, key, key + sizes.attention);
            }
    }

    size_t head_of(uint32_t i, uint32_t h) const { return size_t(i) * sizes.attention + h * sizes.head; }
    float* query_of(uint32_t i, uint32_t h) const {
        return state.qkv.get() + size_t(i) * 3 * sizes.attention + h * sizes.head;
    }

    void store(uint32_t number, uint32_t h, uint32_t event, const float* key, const float* value) {
        const BlockLayout::Head head = pool.layout.at(cache.block_of(event, size), number, h, event % size);
        const auto store_row = kernels.store[pool.layout.dtype];
        const float key_scale = store_row(head.keys, key, sizes.head);
        const float value_scale = store_row(head.values, value, sizes.head);
        if (!head.key_scales) return;
        *head.key_scales = key_scale;
        *head.value_scales = value_scale;
    }

    // Block by block, and in each all heads and all of the batch, with a running softmax.
    void attend(uint32_t number) {
        const uint32_t heads = model.config.heads, end = cache.taken + n;
        std::fill_n(state.mixed.get(), size_t(n) * sizes.attention, 0.0f);
        std::fill_n(state.largest.get(), size_t(n) * heads, kNever);
        std::fill_n(state.sum.get(), size_t(n) * heads, 0.0f);
        for (uint32_t start = cache.dropped / size * size; start < end; start += size) {
            const Block& block = cache.block_of(start, size);
            const uint32_t from = cache.dropped > start ? cache.dropped - start : 0;
            for (uint32_t h = 0; h < heads; ++h)
                for (uint32_t i = 0; i < n; ++i) {
                    const uint32_t seen = cache.taken + i + 1;
                    if (seen > start + from) attend_block(number, h, i, block, from, std::min(size, seen - start));
                }
        }
        for (uint32_t i = 0; i < n; ++i)
            for (uint32_t h = 0; h < heads; ++h) {
                const float scale = 1 / state.sum[size_t(i) * heads + h];
                float* mixed = state.mixed.get() + head_of(i, h);
                for (uint32_t k = 0; k < sizes.head; ++k) mixed[k] *= scale;
            }
    }

    // Row i's head h over the block's events from..to-1.
    void attend_block(uint32_t number, uint32_t h, uint32_t i, const Block& block, uint32_t from, uint32_t to) {
        const stap_dtype dtype = pool.layout.dtype;
        const BlockLayout::Head head = pool.layout.at(block, number, h, from);
        const size_t row = size_t(i) * model.config.heads + h, at = head_of(i, h);
        const Query query = {query_of(i, h), state.whole_query.get() + at, state.query_scale[row]};
        float* scores = state.scores.get();
        kernels.score[dtype](scores, query, head.keys, head.key_scales, to - from, sizes.head);
        if (block.any_hidden)
            for (uint32_t e = from; e < to; ++e)
                if (block.app[e] == kHidden) scores[e - from] = kNever;
        const float keep = kernels.soft(scores, to - from, &state.largest[row], &state.sum[row]);
        kernels.mix[dtype](&state.mixed[at], keep, scores, head.values, head.value_scales, to - from, sizes.head);
    }

    // out (n, rows) = y w^T.
    void multiply(Buffer<float>& out, const float* y, size_t ldy, const Matrix& w) {
        kernels.matmul(out.get(), w.rows, y, ldy, n, w, state.whole.get());
    }

    // x += y w^T.
    void add_product(const float* y, size_t ldy, const Matrix& w) {
        multiply(state.normed, y, ldy, w);
        for (size_t k = 0; k < size_t(n) * sizes.d; ++k) state.x[k] += state.normed[k];
    }

    void norm(const Buffer<float>& weight) {
        for (uint32_t i = 0; i < n; ++i)
            kernels.rms_norm(state.normed.get() + size_t(i) * sizes.d, state.x.get() + size_t(i) * sizes.d,
                             weight.get(), model.config.dim, sizes.d, float(model.config.norm_eps));
    }

    void run_layer(uint32_t number, const Layer& layer) {
        norm(layer.attention_norm);
        multiply(state.qkv, state.normed.get(), sizes.d, layer.qkv);
        if (layer.key_before) mix_keys(number, layer);
        place(number, layer);
        attend(number);
        add_product(state.mixed.get(), sizes.attention, layer.out);
        norm(layer.feedforward_norm);
        multiply(state.gate_up, state.normed.get(), sizes.d, layer.gate_up);
        for (uint32_t i = 0; i < n; ++i) {
            float* gate = state.gate_up.get() + size_t(i) * 2 * sizes.hidden;
            kernels.silu_mul(gate, gate + sizes.hidden, sizes.hidden);
        }
        add_product(state.gate_up.get(), 2 * sizes.hidden, layer.down);
    }

    void run() {
        if (cache.taken == 0) cache.origin = events[0].minutes;
        cache.reserve(cache.taken + n, pool);
        for (uint32_t i = 0; i < n; ++i) {
            Block& block = cache.block_of(cache.taken + i, size);
            block.app[(cache.taken + i) % size] = events[i].app;
            block.action[(cache.taken + i) % size] = events[i].action;
        }
        embed();
        turn();
        for (uint32_t number = 0; number < model.config.layers; ++number)
            run_layer(number, model.weights.layers[number]);
        if (model.weights.pointing) {
            norm(model.weights.norm);
            PointingPass{model, kernels, state.pointing, pool, cache}.place(state.normed.get(), n, state.whole.get());
        }
        cache.taken += n;
    }
};

}  // namespace

void forward(const Model& model, const Kernels& kernels, RunState& state, Pool& pool, Cache& cache, const Event* events,
             uint32_t n) {
    Pass{model, kernels, state, pool, cache, events, n}.run();
}

void forward_head(const Model& model, const Kernels& kernels, RunState& state, Pool& pool, Cache& cache, uint32_t row) {
    float* x = state.hidden.get();
    kernels.rms_norm(x, state.x.get() + size_t(row) * model.sizes.d, model.weights.norm.get(), model.config.dim,
                     model.sizes.d, float(model.config.norm_eps));
    kernels.matmul(state.logits.get(), model.sizes.vocabulary, x, model.sizes.d, 1, model.weights.head,
                   state.whole.get());
    if (model.weights.pointing)
        PointingPass{model, kernels, state.pointing, pool, cache}.speak(x, row, state.logits.get(), state.whole.get());
}

}  // namespace stap
