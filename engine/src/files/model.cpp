#include "files/model.h"

#include <algorithm>
#include <cmath>

#include "files/loader.h"
#include "hash.h"

namespace stap {
namespace {

// The table (n, d) times the transposed d x d part of W_f (d, 3 d) that begins at column `first`.
void multiply_in(float* out, uint32_t stride, const float* table, uint32_t n, const std::vector<float>& w_f, uint32_t d,
                 uint32_t first) {
    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t o = 0; o < d; ++o) {
            double sum = 0;
            for (uint32_t k = 0; k < d; ++k)
                sum += double(w_f[size_t(o) * 3 * d + first + k]) * table[size_t(i) * d + k];
            out[size_t(i) * stride + o] = float(sum);
        }
}

void load_embeddings(Loader& loader, Model& model) {
    const uint32_t d = model.config.dim, v = model.config.vocabulary, stride = model.sizes.d;
    Weights& w = model.weights;
    const std::vector<float> w_f = loader.floats("fuse.weight"), bias = loader.floats("fuse.bias");
    const std::vector<float> apps = loader.floats("embed_app.weight"), actions = loader.floats("embed_action.weight");
    const std::vector<float> hour = loader.floats("embed_hour.weight"), hour_bias = loader.floats("embed_hour.bias");
    w.app = loader.make<float>(size_t(v) * stride);
    w.action = loader.make<float>(size_t(2) * stride);
    w.hour = loader.make<float>(size_t(2) * stride);
    multiply_in(w.app.get(), stride, apps.data(), v, w_f, d, 0);
    multiply_in(w.action.get(), stride, actions.data(), 2, w_f, d, d);
    std::vector<float> turned(size_t(2) * d), constant(d);
    for (uint32_t k = 0; k < 2 * d; ++k) turned[k % 2 * d + k / 2] = hour[k];
    multiply_in(w.hour.get(), stride, turned.data(), 2, w_f, d, 2 * d);
    multiply_in(constant.data(), d, hour_bias.data(), 1, w_f, d, 2 * d);
    for (uint32_t a = 0; a < 2; ++a)
        for (uint32_t o = 0; o < d; ++o) w.action[size_t(a) * stride + o] += constant[o] + bias[o];
}

// The transformer's matrices in the order of use: four a layer, then the head.
std::vector<Shape> transformer_shapes(const Config& c, const Sizes& s) {
    const Spread dim{1, c.dim, s.d}, attention{c.heads, c.head_dim(), s.head}, qkv{3 * c.heads, c.head_dim(), s.head};
    std::vector<Shape> shapes;
    for (uint32_t n = 0; n < c.layers; ++n) {
        const std::string block = "blocks." + std::to_string(n) + ".";
        shapes.push_back({block + "attention.qkv.weight", qkv, dim});
        shapes.push_back({block + "attention.out.weight", dim, attention});
        shapes.push_back({block + "feedforward.gate_up.weight", {2, c.hidden, s.hidden}, dim});
        shapes.push_back({block + "feedforward.down.weight", dim, {1, c.hidden, s.hidden}});
    }
    shapes.push_back({"head.weight", {1, c.vocabulary, s.vocabulary}, dim});
    return shapes;
}

Layer load_layer(Loader& loader, const Model& model, uint32_t n, const Shape* shapes) {
    const Config& c = model.config;
    const Sizes& s = model.sizes;
    const std::string block = "blocks." + std::to_string(n) + ".";
    Layer layer;
    layer.attention_norm = loader.vector(block + "attention_norm.weight", s.d);
    layer.qkv = loader.matrix(shapes[0]);
    if (c.mixed_keys) layer.key_before = loader.spread(block + "attention.key_before", shapes[1].cols);
    if (c.query_key_norm) {
        layer.query_norm = loader.vector(block + "attention.query_norm.weight", s.head);
        layer.key_norm = loader.vector(block + "attention.key_norm.weight", s.head);
    }
    layer.out = loader.matrix(shapes[1]);
    layer.feedforward_norm = loader.vector(block + "feedforward_norm.weight", s.d);
    layer.gate_up = loader.matrix(shapes[2]);
    layer.down = loader.matrix(shapes[3]);
    return layer;
}

std::unique_ptr<const Fusion> load_fusion(Loader& loader, const ModelFile& file, const std::string& prefix,
                                          const HeadShape& shape) {
    const auto spread = [](uint64_t n) { return Spread{1, uint32_t(n), padded(uint32_t(n))}; };
    const auto matrix = [&](const std::string& name) {
        const std::vector<uint64_t>& shape = file.tensors.at(prefix + name + ".weight").shape;
        return loader.matrix_as({prefix + name + ".weight", spread(shape[0]), spread(shape[1])}, STAP_F32);
    };
    const auto vector = [&](const std::string& name) {
        return loader.vector(prefix + name, padded(uint32_t(file.tensors.at(prefix + name).count())));
    };
    const uint32_t inside = file.config.candidate_heads * kCandidateHead;
    auto fusion = std::make_unique<Fusion>();
    fusion->shape = shape;
    fusion->statistic.mean = vector("statistic_mean");
    fusion->statistic.scale = vector("statistic_scale");
    fusion->moment.mean = vector("context_mean");
    fusion->moment.scale = vector("context_scale");
    if (shape.dim) fusion->embed_moment = matrix("embed");
    fusion->gate = matrix("gate");
    fusion->gate_bias = vector("gate.bias");
    fusion->statistics = matrix("statistics");
    fusion->statistics_bias = vector("statistics.bias");
    fusion->rank = vector("rank.weight");
    fusion->state = matrix("state");
    if (inside > 0) {
        const Spread qkv = {3, inside, padded(inside)}, width = spread(shape.width);
        fusion->compare_qkv = loader.matrix_as({prefix + "compare.qkv.weight", qkv, width}, STAP_F32);
        fusion->compare_out = matrix("compare.out");
    }
    fusion->hidden = matrix("hidden");
    fusion->hidden_bias = vector("hidden.bias");
    fusion->out = matrix("out");
    fusion->unseen = matrix("unseen");
    fusion->unseen_bias = loader.floats(prefix + "unseen.bias")[0];
    const std::vector<float> scale = loader.floats(prefix + "scale");
    fusion->blend_scale = scale[0];
    fusion->logit_scale = scale[1];
    return fusion;
}

std::unique_ptr<const Pointing> load_pointing(Loader& loader, const Config& c, const Sizes& s) {
    const uint32_t p = c.pointing_heads;
    const auto powers = [&](const char* name, float sign, float factor) {
        Buffer<float> out = loader.vector(name, padded(p));
        for (uint32_t h = 0; h < p; ++h) out[h] = factor * std::exp(sign * out[h]);
        return out;
    };
    auto pointing = std::make_unique<Pointing>();
    const Spread dim{1, c.dim, s.d}, width{p, c.head_dim(), s.head};
    pointing->qk = loader.matrix_as({"pointing.qk.weight", {2 * p, c.head_dim(), s.head}, dim}, STAP_F32);
    pointing->key_before = loader.spread("pointing.key_before", width);
    pointing->ones = loader.make<float>(s.head);
    std::fill_n(pointing->ones.get(), c.head_dim(), 1.0f);
    pointing->fade = powers("pointing.fade", 1, 1);
    pointing->nothing = loader.vector("pointing.nothing", padded(p));
    pointing->floor = powers("pointing.floor", -1, 1);
    pointing->sharpness = powers("pointing.sharpness", 1, 1 / std::sqrt(float(c.head_dim())));
    pointing->gate = loader.matrix_as({"pointing.gate.weight", {1, p, padded(p)}, dim}, STAP_F32);
    pointing->gate_bias = loader.vector("pointing.gate.bias", padded(p));
    return pointing;
}

std::vector<double> turns(double base, uint32_t head_dim) {
    std::vector<double> turn(head_dim / 2);
    for (uint32_t k = 0; k < turn.size(); ++k) turn[k] = std::pow(base, -2.0 * k / head_dim);
    return turn;
}

}  // namespace

void Normal::apply(const float* x, uint32_t n, float* out) const {
    for (uint32_t i = 0; i < n; ++i) out[i] = std::min(kClip, std::max(-kClip, (x[i] - mean[i]) * scale[i]));
}

std::shared_ptr<const Model> model_load(Source& source, stap_dtype wanted) {
    const ModelFile file = model_file_open(source);
    const Config& c = file.config;
    const Sizes s(c);
    auto model = std::make_shared<Model>();
    model->config = c;
    model->sizes = s;
    const double facts[] = {double(c.vocabulary),
                            double(c.dim),
                            double(c.layers),
                            double(c.heads),
                            double(c.hidden),
                            c.time_base,
                            c.norm_eps,
                            double(c.query_key_norm + 2 * c.tied_apps + 4 * c.mixed_keys),
                            double(c.launches),
                            double(c.ordinal_heads),
                            double(c.evidence),
                            double(wanted),
                            double(c.pointing_heads)};
    model->fingerprint = hash_bytes(facts, sizeof facts, 0);
    Loader loader(source, file, *model, wanted);
    load_embeddings(loader, *model);
    const std::vector<Shape> shapes = transformer_shapes(c, s);
    loader.reserve(shapes);
    for (uint32_t n = 0; n < c.layers; ++n)
        model->weights.layers.push_back(load_layer(loader, *model, n, &shapes[size_t(n) * 4]));
    model->weights.norm = loader.vector("norm.weight", s.d);
    model->weights.head = c.tied_apps ? loader.tied_head(shapes.back()) : loader.matrix(shapes.back());
    if (c.pointing_heads) model->weights.pointing = load_pointing(loader, c, s);
    if (c.evidence) model->weights.fusion = load_fusion(loader, file, "evidence.", c.evidence_head());
    if (c.launches) model->weights.launch = load_fusion(loader, file, "launch.", c.launch_head());
    model->time_turn = turns(c.time_base, c.head_dim());
    model->ordinal_turn = turns(kOrdinalBase, c.head_dim());
    return model;
}

}  // namespace stap
