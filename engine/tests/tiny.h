// Small model files, made in memory: for tests and fuzzing.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "dtype.h"
#include "files/config.h"
#include "hash.h"

namespace tiny {

using stap::Config;

inline Config config() {
    Config c = {12, 16, 24, 2, 3, 20};
    c.query_key_norm = true;
    c.ordinal_heads = 1;
    return c;
}

inline Config config_pure() {
    Config c = config();
    c.tied_apps = c.mixed_keys = true;
    c.pointing_heads = 2;
    return c;
}

inline Config config_with_evidence() {
    Config c = config();
    c.evidence = 10;
    c.candidate_heads = 2;
    return c;
}

inline Config config_with_launches() {
    Config c = config_with_evidence();
    c.launches = 12;
    return c;
}

inline std::string config_text(const Config& c) {
    auto n = [](auto value) { return std::to_string(value); };
    return "{\"vocabulary\": " + n(c.vocabulary) + ", \"context\": " + n(c.context) + ", \"dim\": " + n(c.dim) +
           ", \"layers\": " + n(c.layers) + ", \"heads\": " + n(c.heads) + ", \"hidden\": " + n(c.hidden) +
           ", \"query_key_norm\": " + (c.query_key_norm ? "true" : "false") +
           ", \"tied_apps\": " + (c.tied_apps ? "true" : "false") +
           ", \"mixed_keys\": " + (c.mixed_keys ? "true" : "false") + ", \"ordinal_heads\": " + n(c.ordinal_heads) +
           ", \"pointing_heads\": " + n(c.pointing_heads) + ", \"evidence\": " + n(c.evidence) +
           ", \"candidate_heads\": " + n(c.candidate_heads) + ", \"launches\": " + n(c.launches) + "}";
}

struct Tensor {
    std::string name, dtype;
    std::vector<uint64_t> shape;
    std::string bytes;
};

inline std::vector<Tensor> tensors(const Config& c, const std::string& dtype = "F32") {
    std::vector<Tensor> out;
    uint64_t seed = 1;
    for (const auto& wanted : stap::config_tensors(c)) {
        uint64_t count = 1;
        for (uint64_t n : wanted.shape) count *= n;
        const bool norm = wanted.name.find("norm") != std::string::npos;
        std::vector<float> values(count);
        for (float& value : values) {
            seed = stap::hash_mix(seed);
            value = float(double(seed >> 11) / double(1ull << 53) - 0.5) * (norm ? 0.2f : 1.0f) + (norm ? 1.0f : 0.0f);
        }
        Tensor tensor{wanted.name, "F32", wanted.shape, {}};
        if (dtype == "I8" && wanted.matrix) {
            tensor.dtype = "I8";
            for (float value : values) tensor.bytes.push_back(char(int8_t(value * 250)));
            std::vector<float> scale(wanted.shape[0], 1 / 250.0f);
            out.push_back({wanted.name + ".scale",
                           "F32",
                           {wanted.shape[0]},
                           std::string(reinterpret_cast<const char*>(scale.data()), scale.size() * 4)});
        } else if (dtype == "F16") {
            tensor.dtype = "F16";
            for (float value : values) {
                const uint16_t half = stap::half_from_float(value);
                tensor.bytes.append(reinterpret_cast<const char*>(&half), 2);
            }
        } else {
            tensor.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * 4);
        }
        out.push_back(std::move(tensor));
    }
    return out;
}

inline std::string with_length(const std::string& header) {
    std::string out(8, '\0');
    const uint64_t length = header.size();
    for (int i = 0; i < 8; ++i) out[size_t(i)] = char(length >> (8 * i));
    return out + header;
}

inline std::string quote(const std::string& text) {
    std::string out = "\"";
    for (char c : text) out += c == '"' ? std::string("\\\"") : std::string(1, c);
    return out + "\"";
}

inline std::string metadata(const std::string& config, const std::string& format = "stap-model") {
    return "\"__metadata__\": {\"format\": " + quote(format) + ", \"config\": " + quote(config) + "}";
}

inline std::string entry(const Tensor& tensor, uint64_t begin) {
    std::string shape;
    for (uint64_t n : tensor.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
    return quote(tensor.name) + ": {\"dtype\": " + quote(tensor.dtype) + ", \"shape\": [" + shape +
           "], \"data_offsets\": [" + std::to_string(begin) + ", " + std::to_string(begin + tensor.bytes.size()) + "]}";
}

inline std::string file(const std::vector<Tensor>& tensors, const std::string& meta) {
    std::string header = "{" + meta, data;
    for (const Tensor& tensor : tensors) {
        header += ", " + entry(tensor, data.size());
        data += tensor.bytes;
    }
    return with_length(header + "}") + data;
}

inline std::string model(const Config& c = config(), const std::string& dtype = "F32") {
    return file(tensors(c, dtype), metadata(config_text(c)));
}

}  // namespace tiny
