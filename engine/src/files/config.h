// The sizes of a model, and the tensors that follow from them: the same contract as model/config.py.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/json.h"
#include "person/statistics.h"

namespace stap {

constexpr uint32_t kMostContext = 1u << 20;  // events
constexpr uint32_t kCandidateHead = 16;      // values of a head that compares candidates
constexpr double kOrdinalBase = 10000.0;     // of the heads that turn by index, as time_base of the others

// A head that ranks candidates: its width W, and what it reads: F statistics of each, M values of the moment, d of the
// transformer's hidden state.
struct HeadShape {
    uint32_t width, statistics, moments, dim;

    uint32_t state() const { return dim + moments; }  // S
};

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
    bool tied_apps = false;        // the head is a map (d, d), then products with the apps' own vectors
    bool mixed_keys = false;       // every key has a share of the key before it
    uint32_t ordinal_heads = 0;    // the last so many heads turn by the event's index
    uint32_t pointing_heads = 0;   // that point at past openings; 0: none
    uint32_t evidence = 0;         // width of the evidence head; 0: none
    uint32_t candidate_heads = 0;  // by which its candidates are compared with each other; 0: they are not
    uint32_t launches = 0;         // width of the launch head, which is asked at a moment; 0: none

    HeadShape evidence_head() const { return {evidence, kStatisticsBefore, kMomentValuesBefore, dim}; }
    HeadShape launch_head() const { return {launches, kStatistics, kMomentValues, 0}; }
    uint32_t head_dim() const { return dim / heads; }  // D
};

// The settings that are numbers and their ranges: far above anything useful, far below what exhausts memory.
struct WholeSetting {
    const char* name;
    uint32_t Config::* field;
    uint32_t least, most;
};

constexpr WholeSetting kWholeSettings[] = {
    {"vocabulary", &Config::vocabulary, 1, 4096},
    {"context", &Config::context, 1, kMostContext},
    {"dim", &Config::dim, 1, 4096},
    {"layers", &Config::layers, 1, 128},
    {"heads", &Config::heads, 1, 128},
    {"hidden", &Config::hidden, 1, 16384},
    {"ordinal_heads", &Config::ordinal_heads, 0, 128},
    {"pointing_heads", &Config::pointing_heads, 0, 64},
    {"evidence", &Config::evidence, 0, 1024},
    {"candidate_heads", &Config::candidate_heads, 0, 16},
    {"launches", &Config::launches, 0, 1024},
};

struct RealSetting {
    const char* name;
    double Config::* field;
    double above, below;
};

struct FlagSetting {
    const char* name;
    bool Config::* field;
};

constexpr FlagSetting kFlagSettings[] = {{"query_key_norm", &Config::query_key_norm},
                                         {"tied_apps", &Config::tied_apps},
                                         {"mixed_keys", &Config::mixed_keys}};

constexpr RealSetting kRealSettings[] = {{"time_base", &Config::time_base, 1, 1e12},
                                         {"norm_eps", &Config::norm_eps, 0, 1}};

struct TensorShape {
    std::string name;
    std::vector<uint64_t> shape;
    bool matrix = false;  // may be int8, with a scale for every row
};

Config config_from_json(const Json& json);  // fails with STAP_ERROR_CONFIG

std::vector<TensorShape> config_tensors(const Config& config);

}  // namespace stap
