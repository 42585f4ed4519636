// The sizes of a model, and the tensors that follow from them: the same contract as model/config.py.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/json.h"

namespace stap {

constexpr uint32_t kCandidateHead = 16;  // values of a head that compares candidates

struct Config {
    uint32_t vocabulary = 200;  // V, how many apps phi has room for
    uint32_t context = 4096;    // L, in events
    uint32_t dim = 256;         // d
    uint32_t layers = 8;        // N
    uint32_t heads = 4;         // H
    uint32_t hidden = 512;      // of the SwiGLU
    double time_base = 100000.0;
    double norm_eps = 1e-5;
    bool query_key_norm = false;
    uint32_t ordinal_heads = 0;    // the last so many heads turn by the event's index
    uint32_t evidence = 0;         // width of the evidence head; 0: none
    uint32_t candidate_heads = 0;  // by which its candidates are compared with each other; 0: they are not

    uint32_t head_dim() const { return dim / heads; }  // D
};

struct TensorShape {
    std::string name;
    std::vector<uint64_t> shape;
    bool matrix;  // may be int8, with a scale for every row
};

Config config_from_json(const Json& json);  // fails with STAP_ERROR_CONFIG

std::vector<TensorShape> config_tensors(const Config& config);

}  // namespace stap
