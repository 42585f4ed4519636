// Reads a model file's tensors into memory: padded, in the numbers wanted, matrices side by side.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "dtype.h"
#include "failure.h"
#include "files/model.h"
#include "hash.h"

namespace stap {

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

}  // namespace stap
