// A model in memory: read once, never changed, shared by all its sessions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "files/config.h"
#include "files/safetensors.h"
#include "memory.h"

namespace stap {

// Sizes rounded up to kPad. Between heads the pads stand too: a head's values are D of DP.
struct Sizes {
    uint32_t d, head, heads, attention;  // padded d, padded D, H, H * padded D
    uint32_t hidden, vocabulary;         // padded
    uint32_t pointing;                   // P * padded D

    explicit Sizes(const Config& config)
        : d(padded(config.dim)), head(padded(config.head_dim())), heads(config.heads), attention(config.heads * head),
          hidden(padded(config.hidden)), vocabulary(padded(config.vocabulary)), pointing(config.pointing_heads * head) {
    }
    Sizes() = default;
    uint32_t widest() const { return std::max({d, attention, hidden}); }  // that a matrix takes
};

struct Layer {
    Buffer<float> attention_norm;    // (d)
    Matrix qkv;                      // (3 * H * D, d): queries, keys, values
    Buffer<float> key_before;        // (H * D) of the key before, in every key; or null
    Buffer<float> query_norm;        // (D), or null
    Buffer<float> key_norm;          // (D), or null
    Matrix out;                      // (d, H * D)
    Buffer<float> feedforward_norm;  // (d)
    Matrix gate_up;                  // (2 * hidden, d): gate, then up
    Matrix down;                     // (d, hidden)
};

constexpr float kClip = 5;  // standard deviations: beyond what training saw, further makes no difference

struct Normal {
    Buffer<float> mean, scale;

    void apply(const float* x, uint32_t n, float* out) const;  // (x - mean) * scale, within kClip
};

// The evidence head: how the evidence and the transformer speak together (fusion.py). F statistics, M values of the
// moment, W its width; a state is [hidden; moment], S = d + M. The launch head is another one, without the transformer.
struct Fusion {
    HeadShape shape;
    Normal statistic, moment;       // of (F), (M)
    Matrix embed_moment;            // (d, M): into the transformer's input, if it reads that
    Matrix gate;                    // (F, S): how much each statistic counts now
    Buffer<float> gate_bias;        // (F)
    Matrix statistics;              // (W, F)
    Buffer<float> statistics_bias;  // (W)
    Buffer<float> rank;             // (kRanks, W)
    Matrix state;                   // (W, S)
    Matrix compare_qkv;             // (3 * H * D, W): attention of H heads among the candidates, if any
    Matrix compare_out;             // (W, H * D)
    Matrix hidden;                  // (W, W)
    Buffer<float> hidden_bias;      // (W)
    Matrix out;                     // (1, W)
    Matrix unseen;                  // (1, S): the logit of a first-ever app
    float unseen_bias;
    float blend_scale, logit_scale;  // of the blend's log probability, of the transformer's logit
};

// The pointing head (pointing.py). Logarithms of the file are powers here.
struct Pointing {
    Matrix qk;                 // (2 * P * D, d): queries, keys
    Buffer<float> key_before;  // (P * D) of the key before, in every key
    Buffer<float> ones;        // (D) the weights of a norm that has none
    Buffer<float> fade;        // (P) of the score for every usage since
    Buffer<float> nothing;     // (P) the score of no opening
    Buffer<float> floor;       // (P) 1 / floor
    Buffer<float> sharpness;   // (P) by which queries are multiplied, 1 / sqrt(D) included
    Matrix gate;               // (P, d)
    Buffer<float> gate_bias;   // (P)
};

struct Weights {
    // x = W_f [e_app; e_act; e_hour] + b_f with W_f multiplied into the tables: what is left is a sum of rows.
    Buffer<float> app;     // (V, d)
    Buffer<float> action;  // (2, d), with every constant added in
    Buffer<float> hour;    // (2, d): for sin, for cos
    std::vector<Layer> layers;
    Buffer<float> norm;                        // (d)
    Matrix head;                               // (V, d), of tied apps their vectors with the head's map multiplied in
    std::unique_ptr<const Pointing> pointing;  // of a model that points
    std::unique_ptr<const Fusion> fusion;      // of a model with evidence
    std::unique_ptr<const Fusion> launch;      // of one that is asked at a moment, too
    std::vector<Buffer<uint8_t>> memory;       // of all matrices: the transformer's in one piece, in the order of use
};

struct Model {
    Config config;
    Sizes sizes;
    Weights weights;
    std::vector<double> time_turn;     // (D / 2) theta_k of the heads that turn by time
    std::vector<double> ordinal_turn;  // (D / 2) of those that turn by index
    uint64_t bytes = 0;
    uint64_t fingerprint = 0;  // of config and weights: a snapshot belongs to one model
};

std::shared_ptr<const Model> model_load(Source& source, stap_dtype weights);

}  // namespace stap
