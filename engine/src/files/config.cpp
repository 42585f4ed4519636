#include "files/config.h"

#include "failure.h"
#include "person/evidence.h"

namespace stap {
namespace {

[[noreturn]] void bad(const std::string& why) { fail(STAP_ERROR_CONFIG, "model config: " + why); }

struct Whole {
    const char* name;
    uint32_t Config::* field;
    uint32_t least, most;  // far above anything useful, far below what exhausts memory
};

constexpr Whole kWholes[] = {
    {"vocabulary", &Config::vocabulary, 1, 4096},
    {"context", &Config::context, 1, 1u << 20},
    {"dim", &Config::dim, 1, 4096},
    {"layers", &Config::layers, 1, 128},
    {"heads", &Config::heads, 1, 128},
    {"hidden", &Config::hidden, 1, 16384},
    {"ordinal_heads", &Config::ordinal_heads, 0, 128},
    {"evidence", &Config::evidence, 0, 1024},
    {"candidate_heads", &Config::candidate_heads, 0, 16},
};

struct Real {
    const char* name;
    double Config::* field;
    double above, below;
};

constexpr Real kReals[] = {{"time_base", &Config::time_base, 1, 1e12}, {"norm_eps", &Config::norm_eps, 0, 1}};

bool set_whole(Config& config, const std::string& name, const Json& value) {
    for (const Whole& whole : kWholes) {
        if (name != whole.name) continue;
        if (!value.is_whole()) bad(name + " is no whole number");
        if (value.whole() < whole.least || value.whole() > whole.most)
            bad(name + " is " + value.text + ", outside " + std::to_string(whole.least) + ".." +
                std::to_string(whole.most));
        config.*whole.field = uint32_t(value.whole());
        return true;
    }
    return false;
}

bool set_real(Config& config, const std::string& name, const Json& value) {
    for (const Real& real : kReals) {
        if (name != real.name) continue;
        if (value.kind != Json::Number) bad(name + " is no number");
        const double number = value.number();
        if (!(number > real.above && number < real.below)) bad(name + " is " + value.text + ", out of range");
        config.*real.field = number;
        return true;
    }
    return false;
}

}  // namespace

Config config_from_json(const Json& json) {
    if (json.kind != Json::Object) bad("no table of names and values");
    Config config;
    for (const auto& [name, value] : json.members) {
        if (set_whole(config, name, value) || set_real(config, name, value)) continue;
        if (name != "query_key_norm") bad("unknown setting \"" + name.substr(0, 80) + "\"");
        if (value.kind != Json::Bool) bad("query_key_norm is neither true nor false");
        config.query_key_norm = value.flag;
    }
    if (config.dim % (2 * config.heads) != 0)
        bad("dim " + std::to_string(config.dim) + " does not give " + std::to_string(config.heads) +
            " heads an even number of values each");
    if (config.context % 2 != 0) bad("context is " + std::to_string(config.context) + ", but a usage is two events");
    if (config.ordinal_heads > config.heads)
        bad("ordinal_heads is " + std::to_string(config.ordinal_heads) + " of " + std::to_string(config.heads) +
            " heads");
    if (config.candidate_heads && !config.evidence) bad("candidate_heads without an evidence head");
    return config;
}

std::vector<TensorShape> config_tensors(const Config& config) {
    const uint64_t d = config.dim, v = config.vocabulary, h = config.hidden;
    std::vector<TensorShape> tensors = {
        {"embed_app.weight", {v, d}, false},  {"embed_action.weight", {2, d}, false},
        {"embed_hour.weight", {d, 2}, false}, {"embed_hour.bias", {d}, false},
        {"fuse.weight", {d, 3 * d}, false},   {"fuse.bias", {d}, false},
    };
    for (uint32_t n = 0; n < config.layers; ++n) {
        const std::string block = "blocks." + std::to_string(n) + ".";
        tensors.push_back({block + "attention_norm.weight", {d}, false});
        tensors.push_back({block + "attention.qkv.weight", {3 * d, d}, true});
        if (config.query_key_norm) {
            tensors.push_back({block + "attention.query_norm.weight", {config.head_dim()}, false});
            tensors.push_back({block + "attention.key_norm.weight", {config.head_dim()}, false});
        }
        tensors.push_back({block + "attention.out.weight", {d, d}, true});
        tensors.push_back({block + "feedforward_norm.weight", {d}, false});
        tensors.push_back({block + "feedforward.gate_up.weight", {2 * h, d}, true});
        tensors.push_back({block + "feedforward.down.weight", {d, h}, true});
    }
    tensors.push_back({"norm.weight", {d}, false});
    tensors.push_back({"head.weight", {v, d}, true});
    if (config.evidence) {
        const uint64_t f = kStatistics, c = kContextValues, w = config.evidence;
        if (const uint64_t inside = uint64_t(config.candidate_heads) * kCandidateHead) {
            tensors.push_back({"evidence.compare.qkv.weight", {3 * inside, w}, false});
            tensors.push_back({"evidence.compare.out.weight", {w, inside}, false});
        }
        for (const TensorShape& shape : std::vector<TensorShape>{{"statistic_mean", {f}, false},
                                                                 {"statistic_scale", {f}, false},
                                                                 {"context_mean", {c}, false},
                                                                 {"context_scale", {c}, false},
                                                                 {"embed.weight", {d, c}, false},
                                                                 {"gate.weight", {f, d + c}, false},
                                                                 {"gate.bias", {f}, false},
                                                                 {"statistics.weight", {w, f}, false},
                                                                 {"statistics.bias", {w}, false},
                                                                 {"rank.weight", {kRanks, w}, false},
                                                                 {"state.weight", {w, d + c}, false},
                                                                 {"hidden.weight", {w, w}, false},
                                                                 {"hidden.bias", {w}, false},
                                                                 {"out.weight", {1, w}, false},
                                                                 {"unseen.weight", {1, d + c}, false},
                                                                 {"unseen.bias", {1}, false},
                                                                 {"scale", {2}, false}})
            tensors.push_back({"evidence." + shape.name, shape.shape, false});
    }
    return tensors;
}

}  // namespace stap
