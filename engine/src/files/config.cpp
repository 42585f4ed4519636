#include "files/config.h"

#include "failure.h"
#include "person/statistics.h"

namespace stap {
namespace {

[[noreturn]] void bad(const std::string& why) { fail(STAP_ERROR_CONFIG, "model config: " + why); }

template <typename Setting, size_t n>
const Setting* find(const Setting (&settings)[n], const std::string& name) {
    for (const Setting& setting : settings)
        if (name == setting.name) return &setting;
    return nullptr;
}

void set(Config& config, const std::string& name, const Json& value) {
    if (const WholeSetting* whole = find(kWholeSettings, name)) {
        if (!value.is_whole()) bad(name + " is no whole number");
        if (value.whole() < whole->least || value.whole() > whole->most)
            bad(name + " is " + value.text + ", outside " + std::to_string(whole->least) + ".." +
                std::to_string(whole->most));
        config.*whole->field = uint32_t(value.whole());
    } else if (const RealSetting* real = find(kRealSettings, name)) {
        if (value.kind != Json::kNumber) bad(name + " is no number");
        config.*real->field = value.number();
        if (!(value.number() > real->above && value.number() < real->below))
            bad(name + " is " + value.text + ", out of range");
    } else if (const FlagSetting* flag = find(kFlagSettings, name)) {
        if (value.kind != Json::kBool) bad(name + " is neither true nor false");
        config.*flag->field = value.flag;
    } else {
        bad("unknown setting \"" + name.substr(0, 80) + "\"");
    }
}

}  // namespace

Config config_from_json(const Json& json) {
    if (json.kind != Json::kObject) bad("no table of names and values");
    Config config;
    for (const auto& [name, value] : json.members) set(config, name, value);
    if (config.dim % (2 * config.heads) != 0)
        bad("dim " + std::to_string(config.dim) + " does not give " + std::to_string(config.heads) +
            " heads an even number of values each");
    if (config.context % 2 != 0) bad("context is " + std::to_string(config.context) + ", but a usage is two events");
    if (config.ordinal_heads > config.heads)
        bad("ordinal_heads is " + std::to_string(config.ordinal_heads) + " of " + std::to_string(config.heads) +
            " heads");
    if (config.pointing_heads && config.evidence) bad("pointing_heads and evidence do not go together");
    if (config.candidate_heads && !config.evidence) bad("candidate_heads without an evidence head");
    if (config.launches && !config.evidence) bad("launches without an evidence head");
    return config;
}

std::vector<TensorShape> config_tensors(const Config& config) {
    std::vector<TensorShape> tensors;
    const auto add = [&](const std::string& prefix, std::initializer_list<TensorShape> group) {
        for (const auto& [name, shape, matrix] : group) tensors.push_back({prefix + name, shape, matrix});
    };
    const uint64_t d = config.dim, v = config.vocabulary, h = config.hidden;
    add("embed_", {{"app.weight", {v, d}}, {"action.weight", {2, d}}, {"hour.weight", {d, 2}}, {"hour.bias", {d}}});
    add("fuse.", {{"weight", {d, 3 * d}}, {"bias", {d}}});
    for (uint32_t n = 0; n < config.layers; ++n) {
        const std::string block = "blocks." + std::to_string(n) + ".", attention = block + "attention.";
        add(block, {{"attention_norm.weight", {d}}});
        add(attention, {{"qkv.weight", {3 * d, d}, true}});
        if (config.mixed_keys) add(attention, {{"key_before", {d}}});
        const uint64_t head = config.head_dim();
        if (config.query_key_norm) add(attention, {{"query_norm.weight", {head}}, {"key_norm.weight", {head}}});
        add(attention, {{"out.weight", {d, d}, true}});
        add(block, {{"feedforward_norm.weight", {d}}});
        add(block, {{"feedforward.gate_up.weight", {2 * h, d}, true}, {"feedforward.down.weight", {d, h}, true}});
    }
    add("", {{"norm.weight", {d}}, {"head.weight", {config.tied_apps ? d : v, d}, true}});
    if (const uint64_t p = config.pointing_heads) {
        const uint64_t width = p * config.head_dim();
        add("pointing.", {{"qk.weight", {2 * width, d}}, {"key_before", {width}}, {"fade", {p}}, {"nothing", {p}}});
        add("pointing.", {{"floor", {p}}, {"sharpness", {p}}, {"gate.weight", {p, d}}, {"gate.bias", {p}}});
    }
    if (!config.evidence) return tensors;
    const uint64_t inside = uint64_t(config.candidate_heads) * kCandidateHead;
    const auto add_head = [&](const std::string& prefix, const HeadShape& shape) {
        const uint64_t f = shape.statistics, m = shape.moments, w = shape.width, state = shape.state();
        if (inside) add(prefix + "compare.", {{"qkv.weight", {3 * inside, w}}, {"out.weight", {w, inside}}});
        // (What these files call the context is the moment: see docs/format.md.)
        add(prefix, {{"statistic_mean", {f}}, {"statistic_scale", {f}}, {"context_mean", {m}}, {"context_scale", {m}}});
        if (shape.dim) add(prefix, {{"embed.weight", {shape.dim, m}}});
        add(prefix, {{"gate.weight", {f, state}}, {"gate.bias", {f}}});
        add(prefix, {{"statistics.weight", {w, f}}, {"statistics.bias", {w}}, {"rank.weight", {kRanks, w}}});
        add(prefix, {{"state.weight", {w, state}}, {"hidden.weight", {w, w}}, {"hidden.bias", {w}}});
        add(prefix, {{"out.weight", {1, w}}, {"unseen.weight", {1, state}}, {"unseen.bias", {1}}, {"scale", {2}}});
    };
    add_head("evidence.", config.evidence_head());
    if (config.launches) add_head("launch.", config.launch_head());
    return tensors;
}

}  // namespace stap
