#include "files/safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "dtype.h"
#include "failure.h"
#include "files/sha256.h"

namespace stap {
namespace {

constexpr uint64_t kMostHeader = 1u << 20;
constexpr uint64_t kMostValues = uint64_t(1) << 40;
constexpr size_t kMostDimensions = 8;
constexpr size_t kPiece = 1 << 16;  // bytes that are hashed at a time
constexpr char kTensorsSeal[] = "sha256", kTextsSeal[] = "texts_sha256";

[[noreturn]] void damaged(const std::string& why) { fail(STAP_ERROR_FORMAT, why); }

std::string quoted(const std::string& name) { return "\"" + name.substr(0, 80) + "\""; }

std::string shape_text(const std::vector<uint64_t>& shape) {
    std::string text = "(";
    for (uint64_t n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
    return text + ")";
}

Json read_header(Source& source, uint64_t& data_begin) {
    if (source.size() < 8) damaged("a file of " + std::to_string(source.size()) + " bytes is no safetensors file");
    uint8_t bytes[8];
    source.read(0, bytes, 8);
    uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | bytes[i];
    if (length > kMostHeader) damaged("a header of " + std::to_string(length) + " bytes, where 1 MB is the most");
    if (length > source.size() - 8)
        damaged("a header of " + std::to_string(length) + " bytes runs past the end of the file");
    std::string text(size_t(length), '\0');
    source.read(8, text.data(), text.size());
    data_begin = 8 + length;
    Json header = json_parse(text, "safetensors header");
    if (header.kind != Json::kObject) damaged("a header that is no JSON object");
    return header;
}

const Json& find_metadata(const Json& header) {
    const Json* metadata = header.find("__metadata__");
    if (!metadata) fail(STAP_ERROR_CONFIG, "no metadata in the header: not a model of ours");
    if (metadata->kind != Json::kObject) damaged("metadata that is no JSON object");
    for (const auto& [key, value] : metadata->members)
        if (value.kind != Json::kString) damaged("metadata " + quoted(key) + " is not text");
    return *metadata;
}

// A hash that the file carries against that of its contents: it notices accidents, and is no reason to trust a file.
void check_seal(const Json& metadata, const char* name, Sha256& contents) {
    if (metadata.find(name)->text != contents.hex()) damaged("damaged: not what was written (its hash differs)");
}

void check_texts(const Json& metadata) {
    if (!metadata.find(kTextsSeal)) return;
    std::map<std::string_view, std::string_view> texts;
    for (const auto& [key, value] : metadata.members)
        if (key != kTextsSeal) texts.emplace(key, value.text);
    Sha256 contents;
    for (const auto& [key, text] : texts)
        for (std::string_view part : {key, text}) {
            contents.add(part.data(), part.size());
            contents.add("", 1);
        }
    check_seal(metadata, kTextsSeal, contents);
}

void check_values(const Json& metadata, Source& source, uint64_t begin) {
    if (!metadata.find(kTensorsSeal)) return;
    std::vector<uint8_t> piece(kPiece);
    Sha256 contents;
    for (uint64_t at = begin; at < source.size(); at += kPiece) {
        const size_t size = size_t(std::min<uint64_t>(kPiece, source.size() - at));
        source.read(at, piece.data(), size);
        contents.add(piece.data(), size);
    }
    check_seal(metadata, kTensorsSeal, contents);
}

Config read_config(const Json& metadata) {
    const Json *format = metadata.find("format"), *config = metadata.find("config");
    if (format && format->text == "stap-checkpoint") fail(STAP_ERROR_CONFIG, "a training checkpoint, not a model");
    if (!format || format->text != "stap-model") fail(STAP_ERROR_CONFIG, "a safetensors file, but no stap model");
    if (!config) fail(STAP_ERROR_CONFIG, "no model config in the header");
    Json parsed;
    try {
        parsed = json_parse(config->text, "model config");
    } catch (const Failure& failure) {
        fail(STAP_ERROR_CONFIG, failure.message);
    }
    return config_from_json(parsed);
}

// What the header says of one tensor.
struct EntryReader {
    const std::string& name;
    const Json& json;

    [[noreturn]] void bad(const std::string& why) const { damaged("tensor " + quoted(name) + " " + why); }

    const Json& member(const std::string& key) const {
        const Json* value = json.find(key);
        if (!value) bad("has no " + key);
        return *value;
    }

    stap_dtype dtype() const {
        const Json& value = member("dtype");
        if (value.kind != Json::kString) bad("has a dtype that is not text");
        if (value.text == "F32") return STAP_F32;
        if (value.text == "F16") return STAP_F16;
        if (value.text == "I8") return STAP_I8;
        fail(STAP_ERROR_TENSOR, "tensor " + quoted(name) + " is " + quoted(value.text) + ", not F32, F16 or I8");
    }

    std::vector<uint64_t> shape() const {
        const Json& value = member("shape");
        if (value.kind != Json::kArray) bad("has a shape that is no list");
        if (value.items.size() > kMostDimensions) bad("has more than 8 dimensions");
        std::vector<uint64_t> shape;
        uint64_t count = 1;
        for (const Json& item : value.items) {
            if (!item.is_whole()) bad("has a dimension that is no whole number");
            const uint64_t n = item.whole();
            if (n != 0 && count > kMostValues / n) bad("has more values than any model");
            count *= n;
            shape.push_back(n);
        }
        return shape;
    }

    TensorEntry read(uint64_t data_begin, uint64_t data_size) const {
        if (json.kind != Json::kObject) bad("is described by no JSON object");
        for (const auto& [key, value] : json.members)
            if (key != "dtype" && key != "shape" && key != "data_offsets") bad("has an unknown entry " + quoted(key));
        TensorEntry entry = {dtype(), shape(), 0, 0};
        const Json& offsets = member("data_offsets");
        if (offsets.kind != Json::kArray || offsets.items.size() != 2) bad("has data_offsets that are no pair");
        for (const Json& item : offsets.items)
            if (!item.is_whole()) bad("has an offset that is no whole number");
        entry.begin = data_begin + offsets.items[0].whole();
        entry.end = data_begin + offsets.items[1].whole();
        if (entry.begin > entry.end) bad("ends before it begins");
        if (entry.end > data_begin + data_size) bad("runs past the end of the file");
        const uint64_t size = entry.end - entry.begin;
        const uint64_t wanted = entry.count() * dtype_size(entry.dtype);  // below 2^42: shape() saw to it
        if (size != wanted)
            bad("has " + std::to_string(size) + " bytes where its shape and dtype need " + std::to_string(wanted));
        return entry;
    }
};

void check_layout(const std::map<std::string, TensorEntry>& tensors, uint64_t data_begin, uint64_t size) {
    std::vector<std::pair<const TensorEntry*, const std::string*>> sorted;
    for (const auto& [name, entry] : tensors) sorted.emplace_back(&entry, &name);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
        return std::make_pair(a.first->begin, a.first->end) < std::make_pair(b.first->begin, b.first->end);
    });
    uint64_t at = data_begin;
    for (const auto& [entry, name] : sorted) {
        if (entry->begin < at) damaged("tensor " + quoted(*name) + " overlaps another");
        if (entry->begin > at) damaged("a hole before tensor " + quoted(*name));
        at = entry->end;
    }
    if (at != size) damaged(std::to_string(size - at) + " bytes after the last tensor");
}

void check_tensors(const ModelFile& file) {
    std::set<std::string> known;
    for (const TensorShape& tensor : config_tensors(file.config)) {
        const std::string named = "tensor " + quoted(tensor.name);
        const auto place = file.tensors.find(tensor.name), scale = file.tensors.find(tensor.name + ".scale");
        if (place == file.tensors.end()) fail(STAP_ERROR_TENSOR, named + " is missing");
        const TensorEntry& entry = place->second;
        if (entry.shape != tensor.shape)
            fail(STAP_ERROR_TENSOR,
                 named + " has shape " + shape_text(entry.shape) + ", its config says " + shape_text(tensor.shape));
        known.insert(tensor.name);
        if (entry.dtype != STAP_I8) continue;
        if (!tensor.matrix) fail(STAP_ERROR_TENSOR, named + " is I8, which only the large matrices may be");
        if (scale == file.tensors.end()) fail(STAP_ERROR_TENSOR, named + " is I8 without a scale");
        if (scale->second.dtype != STAP_F32 || scale->second.shape != std::vector<uint64_t>{tensor.shape[0]})
            fail(STAP_ERROR_TENSOR, "the scale of " + named + " is not one F32 a row");
        known.insert(scale->first);
    }
    for (const auto& [name, entry] : file.tensors)
        if (!known.count(name)) fail(STAP_ERROR_TENSOR, "tensor " + quoted(name) + " does not belong to its config");
}

}  // namespace

Source::Source(const char* path) : file_(std::fopen(path, "rb")) {
    if (!file_) fail(STAP_ERROR_FILE, std::string("cannot open it: ") + std::strerror(errno));
    const bool at_end = std::fseek(file_.get(), 0, SEEK_END) == 0;
    const long size = at_end ? std::ftell(file_.get()) : -1;
    if (size < 0 || size == 0x7fffffffffffffff) fail(STAP_ERROR_FILE, "cannot read it: it has no length");
    size_ = uint64_t(size);
}

void Source::read(uint64_t offset, void* out, size_t size) {
    if (offset > size_ || size > size_ - offset) damaged("the file ends too soon");
    if (size == 0) return;
    if (data_) {
        std::memcpy(out, data_ + offset, size);
        return;
    }
    if (std::fseek(file_.get(), long(offset), SEEK_SET) != 0 || std::fread(out, 1, size, file_.get()) != size)
        fail(STAP_ERROR_FILE, "cannot read it to its end");
}

ModelFile model_file_open(Source& source) {
    uint64_t data_begin = 0;
    const Json header = read_header(source, data_begin);
    ModelFile file;
    const Json& metadata = find_metadata(header);
    check_texts(metadata);
    file.config = read_config(metadata);
    for (const auto& [name, json] : header.members)
        if (name != "__metadata__")
            file.tensors.emplace(name, EntryReader{name, json}.read(data_begin, source.size() - data_begin));
    check_layout(file.tensors, data_begin, source.size());
    check_tensors(file);
    check_values(metadata, source, data_begin);
    return file;
}

}  // namespace stap
