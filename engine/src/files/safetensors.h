// Model files: safetensors, read as if somebody had forged them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "files/config.h"
#include "stap.h"

namespace stap {

// Bytes to read from: a file, or the caller's memory.
class Source {
   public:
    explicit Source(const char* path);
    Source(const void* data, size_t size) : data_(static_cast<const uint8_t*>(data)), size_(size) {}
    uint64_t size() const { return size_; }
    void read(uint64_t offset, void* out, size_t size);

   private:
    struct Closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Closer> file_;
    const uint8_t* data_ = nullptr;
    uint64_t size_ = 0;
};

struct TensorEntry {
    stap_dtype dtype;
    std::vector<uint64_t> shape;
    uint64_t begin, end;  // bytes from the file's start

    uint64_t count() const {
        uint64_t n = 1;
        for (uint64_t size : shape) n *= size;
        return n;
    }
};

struct ModelFile {
    Config config;
    std::map<std::string, TensorEntry> tensors;
};

// Everything that can be checked without a tensor's values is checked here, before anything large is allocated.
ModelFile model_file_open(Source& source);

}  // namespace stap
