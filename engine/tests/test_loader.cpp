// Hostile model files, made by hand: each is refused, with its own status and its own message, whole or from a file.
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "check.h"
#include "stap.h"
#include "tiny.h"

namespace {

using tiny::Tensor;

struct Refusal {
    stap_status status;
    std::string message;
};

Refusal load(const std::string& file, stap_dtype dtype = STAP_AS_STORED) {
    char message[512] = "";
    stap_model* model = nullptr;
    const stap_status status = stap_model_load_buffer(file.data(), file.size(), dtype, &model, message, sizeof message);
    CHECK((status == STAP_OK) == (model != nullptr));
    stap_model_free(model);
    return {status, message};
}

std::string with_config(const std::string& config) {
    return tiny::file(tiny::tensors(tiny::config()), tiny::metadata(config));
}

std::string with_tensors(const std::function<void(std::vector<Tensor>&)>& change, const std::string& dtype = "F32",
                         const tiny::Config& config = tiny::config()) {
    std::vector<Tensor> tensors = tiny::tensors(config, dtype);
    change(tensors);
    return tiny::file(tensors, tiny::metadata(tiny::config_text(config)));
}

std::string with_evidence(const std::function<void(std::vector<Tensor>&)>& change) {
    return with_tensors(change, "F32", tiny::config_with_evidence());
}

// A sound file whose header text was changed once, from `before` to `after`.
std::string with_header(const std::string& before, const std::string& after) {
    const std::string file = tiny::model();
    uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    std::string header = file.substr(8, length);
    const size_t at = header.find(before);
    CHECK(at != std::string::npos);
    header.replace(at, before.size(), after);
    return tiny::with_length(header) + file.substr(8 + length);
}

Tensor& named(std::vector<Tensor>& tensors, const std::string& name) {
    for (Tensor& tensor : tensors)
        if (tensor.name == name) return tensor;
    CHECK(false);
    return tensors.front();
}

void make_i8(Tensor& tensor) {
    tensor.dtype = "I8";
    tensor.bytes.resize(tensor.bytes.size() / 4);
}

void shorten(Tensor& tensor) {
    tensor.shape = {1};
    tensor.bytes.resize(4);
}

void transpose(Tensor& tensor) { std::swap(tensor.shape[0], tensor.shape[1]); }

void put_float(Tensor& tensor, float value) { std::memcpy(&tensor.bytes[0], &value, 4); }

std::string repeated(const std::string& text, size_t times) {
    std::string out;
    for (size_t i = 0; i < times; ++i) out += text;
    return out;
}

struct Case {
    stap_status status;
    const char* message;  // that it begins with
    std::string file;
};

std::vector<Case> cases() {
    const std::string sound = tiny::model(), hour = "\"embed_hour.bias\": {\"dtype\": \"F32\", \"shape\": [24], ";
    const std::string meta = tiny::metadata(tiny::config_text(tiny::config()));
    auto length = [](uint64_t n) { return std::string(reinterpret_cast<const char*>(&n), 8); };
    auto with_member = [](const std::string& member) { return with_config("{" + member + "}"); };
    return {
        // The outside.
        {STAP_ERROR_FORMAT, "a file of 0 bytes is no safetensors file", ""},
        {STAP_ERROR_FORMAT, "a file of 7 bytes is no safetensors file", sound.substr(0, 7)},
        {STAP_ERROR_FORMAT, "a header of 18446744073709551615 bytes, where 1 MB is the most",
         length(~0ull) + sound.substr(8)},
        {STAP_ERROR_FORMAT, "a header of 1048577 bytes, where 1 MB is the most",
         length((1u << 20) + 1) + std::string((1u << 20) + 1, ' ')},
        {STAP_ERROR_FORMAT, "safetensors header: JSON of more than 65536 values",
         tiny::with_length("{\"a\": [0" + repeated(", 0", 1u << 16) + "]}")},
        {STAP_ERROR_FORMAT, "a header of 1048576 bytes runs past the end of the file",
         length(1u << 20) + sound.substr(8)},
        {STAP_ERROR_FORMAT, "safetensors header: JSON ends too soon", tiny::with_length("")},
        {STAP_ERROR_FORMAT, "a header that is no JSON object", tiny::with_length("[]")},
        {STAP_ERROR_FORMAT, "safetensors header: no JSON value", tiny::with_length("\x80\x04.")},
        {STAP_ERROR_FORMAT, "safetensors header: text after the JSON", tiny::with_length("{} {}")},
        {STAP_ERROR_FORMAT, "safetensors header: JSON nested too deeply",
         tiny::with_length("{\"a\":" + std::string(100000, '['))},
        {STAP_ERROR_FORMAT, "safetensors header: JSON key \"norm.weight\" twice",
         with_header("\"head.weight\"", "\"norm.weight\"")},
        {STAP_ERROR_FORMAT, "safetensors header: a JSON string without an end", tiny::with_length("{\"a")},
        {STAP_ERROR_FORMAT, "safetensors header: a control character in a JSON string",
         tiny::with_length("{\"a\nb\": 1}")},
        {STAP_ERROR_FORMAT, "safetensors header: a JSON string that is not UTF-8",
         tiny::with_length("{\"\xc0\xaf\": 1}")},
        {STAP_ERROR_FORMAT, "safetensors header: half a surrogate pair", tiny::with_length("{\"\\ud800\": 1}")},
        {STAP_ERROR_FORMAT, "safetensors header: an unknown JSON escape", tiny::with_length("{\"\\x41\": 1}")},
        {STAP_ERROR_FORMAT, "safetensors header: a broken JSON number", tiny::with_length("{\"a\": -}")},
        {STAP_ERROR_FORMAT, "safetensors header: JSON object without a key", tiny::with_length("{1: 2}")},
        // Whose it is.
        {STAP_ERROR_CONFIG, "no metadata in the header", tiny::with_length("{}")},
        {STAP_ERROR_FORMAT, "metadata that is no JSON object", tiny::with_length("{\"__metadata__\": 1}")},
        {STAP_ERROR_FORMAT, "metadata \"config\" is not text",
         tiny::with_length("{\"__metadata__\": {\"config\": {}}}")},
        {STAP_ERROR_CONFIG, "a safetensors file, but no stap model",
         tiny::with_length("{\"__metadata__\": {\"format\": \"pt\"}}")},
        {STAP_ERROR_CONFIG, "a training checkpoint, not a model",
         tiny::with_length("{\"__metadata__\": {\"format\": \"stap-checkpoint\"}}")},
        {STAP_ERROR_CONFIG, "no model config in the header",
         tiny::with_length("{\"__metadata__\": {\"format\": \"stap-model\"}}")},
        // Its config.
        {STAP_ERROR_CONFIG, "model config: JSON ends too soon", with_config("")},
        {STAP_ERROR_CONFIG, "model config: no table of names and values", with_config("[200]")},
        {STAP_ERROR_CONFIG, "model config: unknown setting \"dims\"", with_member("\"dims\": 24")},
        {STAP_ERROR_CONFIG, "model config: layers is 4294967297, outside 1..128",
         with_member("\"layers\": 4294967297")},
        {STAP_ERROR_CONFIG, "model config: vocabulary is 0, outside 1..4096", with_member("\"vocabulary\": 0")},
        {STAP_ERROR_CONFIG, "model config: dim is no whole number", with_member("\"dim\": -24")},
        {STAP_ERROR_CONFIG, "model config: heads is no whole number", with_member("\"heads\": 1e1")},
        {STAP_ERROR_CONFIG, "model config: hidden is no whole number", with_member("\"hidden\": \"20\"")},
        {STAP_ERROR_CONFIG, "model config: dim 24 does not give 5 heads an even number",
         with_member("\"dim\": 24, \"heads\": 5")},
        {STAP_ERROR_CONFIG, "model config: context is 15, but a usage is two events", with_member("\"context\": 15")},
        {STAP_ERROR_CONFIG, "model config: ordinal_heads is 9 of 4 heads", with_member("\"ordinal_heads\": 9")},
        {STAP_ERROR_CONFIG, "model config: time_base is 1e999, out of range", with_member("\"time_base\": 1e999")},
        {STAP_ERROR_CONFIG, "model config: norm_eps is 0, out of range", with_member("\"norm_eps\": 0")},
        {STAP_ERROR_CONFIG, "model config: norm_eps is no number", with_member("\"norm_eps\": null")},
        {STAP_ERROR_CONFIG, "model config: query_key_norm is neither true nor false",
         with_member("\"query_key_norm\": 1")},
        // How its tensors are described.
        {STAP_ERROR_FORMAT, "tensor \"a\" is described by no JSON object",
         tiny::with_length("{" + meta + ", \"a\": 1}")},
        {STAP_ERROR_FORMAT, "tensor \"a\" has no dtype", tiny::with_length("{" + meta + ", \"a\": {}}")},
        {STAP_ERROR_FORMAT, "tensor \"a\" has a dtype that is not text",
         tiny::with_length("{" + meta + ", \"a\": {\"dtype\": 32}}")},
        {STAP_ERROR_TENSOR, "tensor \"embed_app.weight\" is \"BF16\", not F32, F16 or I8",
         with_header("\"F32\"", "\"BF16\"")},
        {STAP_ERROR_FORMAT, "tensor \"embed_hour.bias\" has no shape",
         with_header(hour, "\"embed_hour.bias\": {\"dtype\": \"F32\", ")},
        {STAP_ERROR_FORMAT, "tensor \"embed_hour.bias\" has a shape that is no list",
         with_header("\"shape\": [24], ", "\"shape\": 24, ")},
        {STAP_ERROR_FORMAT, "tensor \"embed_hour.bias\" has a dimension that is no whole number",
         with_header("\"shape\": [24], ", "\"shape\": [-24], ")},
        {STAP_ERROR_FORMAT, "tensor \"embed_hour.bias\" has more values than any model",
         with_header("\"shape\": [24], ", "\"shape\": [4294967296, 4294967296, 4294967296], ")},
        {STAP_ERROR_FORMAT, "tensor \"embed_hour.bias\" has more than 8 dimensions",
         with_header("\"shape\": [24], ", "\"shape\": [1,1,1,1,1,1,1,1,24], ")},
        {STAP_ERROR_FORMAT, "tensor \"embed_hour.bias\" has 96 bytes where its shape and dtype need 100",
         with_header("\"shape\": [24], ", "\"shape\": [25], ")},
        {STAP_ERROR_FORMAT, "tensor \"embed_app.weight\" has no data_offsets",
         with_header(", \"data_offsets\": [0, 1152]", "")},
        {STAP_ERROR_FORMAT, "tensor \"embed_app.weight\" has data_offsets that are no pair",
         with_header("[0, 1152]", "[0, 576, 1152]")},
        {STAP_ERROR_FORMAT, "tensor \"embed_app.weight\" has an offset that is no whole number",
         with_header("[0, 1152]", "[0, 18446744073709551615]")},
        {STAP_ERROR_FORMAT, "tensor \"embed_app.weight\" ends before it begins", with_header("[0, 1152]", "[1152, 0]")},
        {STAP_ERROR_FORMAT, "tensor \"embed_app.weight\" runs past the end of the file",
         with_header("[0, 1152]", "[0, 9007199254740000]")},
        {STAP_ERROR_FORMAT, "tensor \"embed_app.weight\" has an unknown entry \"strides\"",
         with_header("[0, 1152]", "[0, 1152], \"strides\": [1]")},
        {STAP_ERROR_FORMAT, "tensor \"embed_action.weight\" overlaps another",
         with_header("[1152, 1344]", "[1148, 1340]")},
        {STAP_ERROR_FORMAT, "a hole before tensor \"embed_action.weight\"",
         with_header("[1152, 1344]", "[1156, 1348]")},
        {STAP_ERROR_FORMAT, "1 bytes after the last tensor", sound + "x"},
        {STAP_ERROR_FORMAT, "tensor \"head.weight\" runs past the end of the file", sound.substr(0, sound.size() - 1)},
        // Whether they are the config's.
        {STAP_ERROR_TENSOR, "tensor \"head.weight\" is missing", with_tensors([](auto& t) { t.pop_back(); })},
        {STAP_ERROR_TENSOR, "tensor \"extra\" does not belong to its config",
         with_tensors([](auto& t) { t.push_back({"extra", "F32", {1}, "0000"}); })},
        {STAP_ERROR_TENSOR, "tensor \"blocks.1.attention.out.weight\" is missing", with_tensors([](auto& t) {
             named(t, "blocks.1.attention.out.weight").name = "blocks.01.attention.out.weight";
         })},
        {STAP_ERROR_TENSOR, "tensor \"embed_app.weight\" has shape (24, 12), its config says (12, 24)",
         with_tensors([](auto& t) { std::swap(t[0].shape[0], t[0].shape[1]); })},
        {STAP_ERROR_TENSOR, "tensor \"embed_action.weight\" has shape (), its config says (2, 24)",
         with_tensors([](auto& t) { t[1].shape = {}, t[1].bytes = "0000"; })},
        {STAP_ERROR_TENSOR, "tensor \"norm.weight\" is I8, which only the large matrices may be",
         with_tensors([](auto& t) { make_i8(named(t, "norm.weight")); })},
        {STAP_ERROR_TENSOR, "tensor \"head.weight\" is I8 without a scale",
         with_tensors([](auto& t) { t.erase(t.end() - 2); }, "I8")},
        {STAP_ERROR_TENSOR, "the scale of tensor \"head.weight\" is not one F32 a row",
         with_tensors([](auto& t) { named(t, "head.weight.scale").shape = {1, 12}; }, "I8")},
        {STAP_ERROR_TENSOR, "tensor \"head.weight.scale\" does not belong to its config",
         with_tensors([](auto& t) { t.push_back({"head.weight.scale", "F32", {12}, std::string(48, '0')}); })},
        // What is in them.
        {STAP_ERROR_TENSOR, "tensor \"fuse.bias\" holds a value that is no finite number",
         with_tensors([](auto& t) { put_float(named(t, "fuse.bias"), NAN); })},
        {STAP_ERROR_TENSOR, "tensor \"head.weight\" holds a value that is no finite number",
         with_tensors([](auto& t) { put_float(named(t, "head.weight"), INFINITY); })},
        {STAP_ERROR_TENSOR, "the scale of tensor \"head.weight\" is not positive everywhere",
         with_tensors([](auto& t) { put_float(named(t, "head.weight.scale"), -1); }, "I8")},
        {STAP_ERROR_TENSOR, "tensor \"head.weight\" holds -128",
         with_tensors([](auto& t) { named(t, "head.weight").bytes[0] = char(-128); }, "I8")},
        // Evidence.
        {STAP_ERROR_CONFIG, "model config: evidence is 1025, outside 0..1024", with_member("\"evidence\": 1025")},
        {STAP_ERROR_CONFIG, "model config: evidence is no whole number", with_member("\"evidence\": true")},
        {STAP_ERROR_CONFIG, "model config: candidate_heads is 17, outside 0..16",
         with_member("\"candidate_heads\": 17")},
        {STAP_ERROR_CONFIG, "model config: candidate_heads without an evidence head",
         with_member("\"candidate_heads\": 1")},
        {STAP_ERROR_TENSOR, "tensor \"evidence.compare.out.weight\" has shape (32, 10), its config says (10, 32)",
         with_evidence([](auto& t) { transpose(named(t, "evidence.compare.out.weight")); })},
        {STAP_ERROR_TENSOR, "tensor \"evidence.compare.qkv.weight\" is missing",
         tiny::file(tiny::tensors(tiny::config()), tiny::metadata(tiny::config_text(tiny::config_with_evidence())))},
        {STAP_ERROR_TENSOR, "tensor \"evidence.compare.out.weight\" does not belong to its config",
         tiny::file(tiny::tensors(tiny::config_with_evidence()), meta)},
        {STAP_ERROR_TENSOR, "tensor \"evidence.scale\" is missing", with_evidence([](auto& t) { t.pop_back(); })},
        {STAP_ERROR_TENSOR, "tensor \"evidence.gate.weight\" is missing",
         with_evidence([](auto& t) { named(t, "evidence.gate.weight").name = "evidence.gate"; })},
        {STAP_ERROR_TENSOR, "tensor \"evidence.gate.weight\" has shape (50, 36), its config says (36, 50)",
         with_evidence([](auto& t) { transpose(named(t, "evidence.gate.weight")); })},
        {STAP_ERROR_TENSOR, "tensor \"evidence.scale\" has shape (1), its config says (2)",
         with_evidence([](auto& t) { shorten(t.back()); })},
        {STAP_ERROR_TENSOR, "tensor \"evidence.rank.weight\" has shape (160), its config says (16, 10)",
         with_evidence([](auto& t) { named(t, "evidence.rank.weight").shape = {160}; })},
        {STAP_ERROR_TENSOR, "tensor \"evidence.hidden.weight\" is I8, which only the large matrices may be",
         with_evidence([](auto& t) { make_i8(named(t, "evidence.hidden.weight")); })},
        {STAP_ERROR_TENSOR, "tensor \"evidence.hidden.weight.scale\" does not belong to its config",
         with_evidence(
             [](auto& t) { t.push_back({"evidence.hidden.weight.scale", "F32", {10}, std::string(40, '0')}); })},
        {STAP_ERROR_TENSOR, "tensor \"evidence.statistic_scale\" holds a value that is no finite number",
         with_evidence([](auto& t) { put_float(named(t, "evidence.statistic_scale"), INFINITY); })},
        {STAP_ERROR_TENSOR, "tensor \"evidence.unseen.bias\" holds a value that is no finite number",
         with_evidence([](auto& t) { put_float(named(t, "evidence.unseen.bias"), NAN); })},
        {STAP_ERROR_TENSOR, "tensor \"evidence.out.weight\" holds a value that is no finite number",
         with_evidence([](auto& t) { put_float(named(t, "evidence.out.weight"), -INFINITY); })},
    };
}

void hostile_files_are_refused() {
    std::set<std::string> messages;
    for (const Case& hostile : cases()) {
        const Refusal found = load(hostile.file);
        CHECK(found.status == hostile.status);
        CHECK_EQUAL(found.message.substr(0, std::strlen(hostile.message)), hostile.message);
        CHECK(messages.insert(found.message).second);
    }
    std::printf("%zu hostile files, %zu messages\n", cases().size(), messages.size());
    CHECK(messages.size() >= 30);
}

void every_cut_is_refused(const std::string& sound) {
    for (size_t size = 0; size < sound.size(); size += size < 4000 ? 1 : 97)
        CHECK(load(sound.substr(0, size)).status != STAP_OK);
}

void sound_files_load() {
    for (const char* stored : {"F32", "F16", "I8"})
        for (stap_dtype wanted : {STAP_F32, STAP_F16, STAP_I8, STAP_AS_STORED})
            for (const tiny::Config& config : {tiny::config(), tiny::config_pure(), tiny::config_with_evidence()})
                CHECK(load(tiny::model(config, stored), wanted).status == STAP_OK);
}

void arguments_are_checked() {
    stap_model* model = nullptr;
    char message[64] = "";
    CHECK(stap_model_load_file(nullptr, STAP_F32, &model, nullptr, 0) == STAP_ERROR_ARGUMENT);
    CHECK(stap_model_load_file("/", STAP_AS_STORED, &model, message, sizeof message) == STAP_ERROR_FILE);
    CHECK(stap_model_load_file("no such file", STAP_AS_STORED, &model, message, sizeof message) == STAP_ERROR_FILE);
    CHECK_EQUAL(message, "no such file: cannot open it: No such file or directory");
    char small[5] = "";
    CHECK(stap_model_load_file("no such file", STAP_AS_STORED, &model, small, sizeof small) == STAP_ERROR_FILE);
    CHECK_EQUAL(small, "no s");
    CHECK(stap_model_load_file("a\nb\x7f", STAP_AS_STORED, &model, message, sizeof message) == STAP_ERROR_FILE);
    CHECK_EQUAL(message, "a?b?: cannot open it: No such file or directory");
    const std::string deep = "a\n/" + repeated("\u00e9", 200);  // whole characters, the end of the path
    char long_message[512] = "";
    CHECK(stap_model_load_file(deep.c_str(), STAP_AS_STORED, &model, long_message, sizeof long_message) ==
          STAP_ERROR_FILE);
    CHECK_EQUAL(std::string(long_message, std::min<size_t>(sizeof long_message, 3 + 160 + 16)),
                "..." + repeated("\u00e9", 80) + ": cannot open it");
    CHECK(stap_model_load_buffer("", 0, 7, &model, nullptr, 0) == STAP_ERROR_ARGUMENT);
    CHECK(model == nullptr);
}

}  // namespace

int main() {
    hostile_files_are_refused();
    every_cut_is_refused(tiny::model());
    every_cut_is_refused(tiny::model(tiny::config_with_evidence(), "I8"));
    sound_files_load();
    arguments_are_checked();
    return failures != 0;
}
