#include "files/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dtype.h"
#include "failure.h"
#include "hash.h"

namespace stap {
namespace {

// Where a matrix's rows and columns go when heads are padded: `groups` runs of `real` values become runs of `room`.
struct Spread {
    uint32_t groups, real, room;
    uint32_t place(uint32_t i) const { return i / real * room + i % real; }
    uint32_t size() const { return groups * room; }
};

// A matrix of the file, and where its rows and columns go.
struct Shape {
    std::string name;
    Spread rows, cols;
    size_t count() const { return size_t(rows.size()) * cols.size(); }
};

class Loader {
   public:
    Loader(Source& source, const ModelFile& file, Model& model, stap_dtype wanted)
        : source_(source), file_(file), model_(model), wanted_(wanted) {}

    // One piece of memory for all of these; matrices that come later get pieces of their own.
    void reserve(const std::vector<Shape>& shapes) {
        size_t bytes = 0;
        for (const Shape& shape : shapes) bytes += data_room(shape, dtype_of(shape.name)) + scale_room(shape);
        slab(bytes);
    }

    std::vector<float> floats(const std::string& name) {
        const TensorEntry& entry = file_.tensors.at(name);
        std::vector<float> values(size_t(entry.count()));
        if (entry.dtype == STAP_F32) {
            source_.read(entry.begin, values.data(), values.size() * sizeof(float));
        } else {
            std::vector<uint16_t> halves(values.size());
            source_.read(entry.begin, halves.data(), halves.size() * sizeof(uint16_t));
            for (size_t i = 0; i < values.size(); ++i) values[i] = half_to_float(halves[i]);
        }
        for (float value : values)
            if (!std::isfinite(value))
                fail(STAP_ERROR_TENSOR, "tensor \"" + name + "\" holds a value that is no finite number");
        model_.fingerprint = hash_bytes(values.data(), values.size() * sizeof(float), model_.fingerprint);
        return values;
    }

    Buffer<float> vector(const std::string& name, uint32_t room) {
        const std::vector<float> values = floats(name);
        Buffer<float> out = make<float>(room);
        std::memcpy(out.get(), values.data(), values.size() * sizeof(float));
        return out;
    }

    Matrix matrix(const Shape& shape) { return matrix_as(shape, dtype_of(shape.name)); }

    Matrix matrix_as(const Shape& shape, stap_dtype dtype) {
        const Room room = take(shape, dtype);
        if (dtype == STAP_I8 && file_.tensors.at(shape.name).dtype == STAP_I8)
            fill_as_stored(room, stored_i8(shape.name), shape);
        else
            fill(room, values_of(shape.name), shape);
        return room.matrix;
    }

    // The head of tied apps: row a is app a's vector times the map.
    Matrix tied_head(const Shape& shape) {
        const uint32_t v = shape.rows.real, d = shape.cols.real;
        const std::vector<float> apps = floats("embed_app.weight"), map = values_of(shape.name);
        std::vector<float> head(size_t(v) * d);
        std::vector<double> sum(d);
        for (uint32_t a = 0; a < v; ++a) {
            std::fill(sum.begin(), sum.end(), 0.0);
            for (uint32_t k = 0; k < d; ++k)
                for (uint32_t c = 0; c < d; ++c) sum[c] += double(apps[size_t(a) * d + k]) * map[size_t(k) * d + c];
            std::copy(sum.begin(), sum.end(), head.begin() + ptrdiff_t(a) * d);
        }
        const Room room = take(shape, dtype_of(shape.name));
        fill(room, head, shape);
        return room.matrix;
    }

    // A vector whose values stand apart as those of padded heads do.
    Buffer<float> spread(const std::string& name, Spread places) {
        const std::vector<float> values = floats(name);
        Buffer<float> out = make<float>(places.size());
        for (uint32_t i = 0; i < values.size(); ++i) out[places.place(i)] = values[i];
        return out;
    }

    template <typename T>
    Buffer<T> make(size_t count) {
        return buffer_counted<T>(count, model_.bytes);
    }

   private:
    struct Room {
        Matrix matrix;
        uint8_t* data;
        float* scale;
    };

    stap_dtype dtype_of(const std::string& name) const {
        return wanted_ == STAP_AS_STORED ? file_.tensors.at(name).dtype : wanted_;
    }
    static size_t data_room(const Shape& shape, stap_dtype dtype) { return rounded(shape.count() * dtype_size(dtype)); }
    static size_t scale_room(const Shape& shape) { return rounded(shape.rows.size() * sizeof(float)); }
    static size_t rounded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

    void slab(size_t bytes) {
        std::vector<Buffer<uint8_t>>& memory = model_.weights.memory;
        memory.reserve(memory.size() + 1);
        memory.push_back(slab_new(bytes));
        std::memset(memory.back().get(), 0, bytes);
        model_.bytes += slab_size(bytes);
        next_ = memory.back().get();
        left_ = bytes;
    }

    Room take(const Shape& shape, stap_dtype dtype) {
        const size_t data = data_room(shape, dtype), scale = scale_room(shape);
        if (left_ < data + scale) slab(data + scale);
        Room room = {{}, next_, reinterpret_cast<float*>(next_ + data)};
        room.matrix = {dtype, room.data, room.scale, shape.rows.size(), shape.cols.size()};
        next_ += data + scale;
        left_ -= data + scale;
        return room;
    }

    // Values as they are into float or half, or to the nearest of 255 steps of their row.
    void fill(const Room& room, const std::vector<float>& values, const Shape& shape) {
        const Spread &rows = shape.rows, &cols = shape.cols;
        const uint32_t width = cols.groups * cols.real;
        for (uint32_t r = 0; r < rows.groups * rows.real; ++r) {
            const float* row = values.data() + size_t(r) * width;
            const size_t begin = size_t(rows.place(r)) * cols.size();
            float largest = 0;
            for (uint32_t c = 0; c < width; ++c) largest = std::max(largest, std::fabs(row[c]));
            const float scale = std::max(largest, 1e-30f) / 127;
            room.scale[rows.place(r)] = scale;
            for (uint32_t c = 0; c < width; ++c) {
                const size_t at = begin + cols.place(c);
                if (room.matrix.dtype == STAP_F32) reinterpret_cast<float*>(room.data)[at] = row[c];
                if (room.matrix.dtype == STAP_F16) reinterpret_cast<uint16_t*>(room.data)[at] = half_from_float(row[c]);
                if (room.matrix.dtype == STAP_I8)
                    reinterpret_cast<int8_t*>(room.data)[at] = int8_t(std::nearbyint(row[c] / scale));
            }
        }
    }

    struct Whole {
        std::vector<int8_t> values;
        std::vector<float> scale;  // of each row

        float at(size_t i) const { return float(values[i]) * scale[i / (values.size() / scale.size())]; }
    };

    Whole stored_i8(const std::string& name) {
        Whole stored = {std::vector<int8_t>(size_t(file_.tensors.at(name).count())), floats(name + ".scale")};
        for (float value : stored.scale)
            if (!(value > 0))
                fail(STAP_ERROR_TENSOR, "the scale of tensor \"" + name + "\" is not positive everywhere");
        source_.read(file_.tensors.at(name).begin, stored.values.data(), stored.values.size());
        model_.fingerprint = hash_bytes(stored.values.data(), stored.values.size(), model_.fingerprint);
        for (int8_t value : stored.values)
            if (value == -128)
                fail(STAP_ERROR_TENSOR, "tensor \"" + name + "\" holds -128, which no symmetric scale gives");
        return stored;
    }

    // A matrix's values, whatever they are stored in.
    std::vector<float> values_of(const std::string& name) {
        if (file_.tensors.at(name).dtype != STAP_I8) return floats(name);
        const Whole stored = stored_i8(name);
        std::vector<float> values(stored.values.size());
        for (size_t i = 0; i < values.size(); ++i) values[i] = stored.at(i);
        return values;
    }

    void fill_as_stored(const Room& room, const Whole& stored, const Shape& shape) {
        const Spread &rows = shape.rows, &cols = shape.cols;
        const uint32_t width = cols.groups * cols.real;
        for (uint32_t r = 0; r < rows.groups * rows.real; ++r) {
            room.scale[rows.place(r)] = stored.scale[r];
            for (uint32_t c = 0; c < width; ++c) {
                const size_t at = size_t(rows.place(r)) * cols.size() + cols.place(c);
                reinterpret_cast<int8_t*>(room.data)[at] = stored.values[size_t(r) * width + c];
            }
        }
    }

    Source& source_;
    const ModelFile& file_;
    Model& model_;
    stap_dtype wanted_;
    uint8_t* next_ = nullptr;  // where the next matrix goes
    size_t left_ = 0;          // bytes from there on
};

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
    const double facts[] = {double(c.vocabulary), double(c.dim),
                            double(c.layers),     double(c.heads),
                            double(c.hidden),     c.time_base,
                            c.norm_eps,           double(c.query_key_norm + 2 * c.tied_apps + 4 * c.mixed_keys),
                            double(c.launches),   double(c.ordinal_heads),
                            double(c.evidence),   double(wanted)};
    model->fingerprint = hash_bytes(facts, sizeof facts, 0);
    Loader loader(source, file, *model, wanted);
    load_embeddings(loader, *model);
    const std::vector<Shape> shapes = transformer_shapes(c, s);
    loader.reserve(shapes);
    for (uint32_t n = 0; n < c.layers; ++n)
        model->weights.layers.push_back(load_layer(loader, *model, n, &shapes[size_t(n) * 4]));
    model->weights.norm = loader.vector("norm.weight", s.d);
    model->weights.head = c.tied_apps ? loader.tied_head(shapes.back()) : loader.matrix(shapes.back());
    if (c.evidence) model->weights.fusion = load_fusion(loader, file, "evidence.", c.evidence_head());
    if (c.launches) model->weights.launch = load_fusion(loader, file, "launch.", c.launch_head());
    model->time_turn = turns(c.time_base, c.head_dim());
    model->ordinal_turn = turns(kOrdinalBase, c.head_dim());
    return model;
}

}  // namespace stap
