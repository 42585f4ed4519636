// State as bytes and back. One list of fields serves both ways; reading trusts nothing.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "failure.h"

namespace stap {

[[noreturn]] inline void damaged(const char* why) { fail(STAP_ERROR_STATE, std::string("snapshot: ") + why); }

struct Writer {
    static constexpr bool kReads = false;
    std::vector<uint8_t> out;
    void bytes(const void* data, size_t size) {
        const auto* begin = static_cast<const uint8_t*>(data);
        out.insert(out.end(), begin, begin + size);
    }
    template <typename T>
    void value(const T& value) {
        bytes(&value, sizeof value);
    }
    void text(const std::string& text, size_t) {
        value(uint32_t(text.size()));
        bytes(text.data(), text.size());
    }
    size_t size(size_t size, size_t) {
        value(uint64_t(size));
        return size;
    }
};

struct Reader {
    static constexpr bool kReads = true;
    const uint8_t* at;
    size_t left;
    void bytes(void* out, size_t size) {
        if (size > left) damaged("it ends too soon");
        if (size) std::memcpy(out, at, size);
        at += size;
        left -= size;
    }
    template <typename T>
    T get() {
        T value;
        bytes(&value, sizeof value);
        return value;
    }
    template <typename T>
    T below(T limit, const char* why) {
        const T value = get<T>();
        if (value >= limit) damaged(why);
        return value;
    }
    template <typename T>
    void value(T& value) {
        if constexpr (std::is_same_v<T, bool>) {
            value = below<uint8_t>(2, "a flag that is none") != 0;
        } else {
            value = get<T>();
            if constexpr (std::is_floating_point_v<T>)
                if (!std::isfinite(value)) damaged("a number that is none");
        }
    }
    void text(std::string& text, size_t most) {
        const uint32_t size = get<uint32_t>();
        if (size > most) damaged("a text too long");
        text.resize(size);
        bytes(text.data(), size);
    }
    size_t size(size_t, size_t most) {
        const uint64_t size = get<uint64_t>();
        if (size > most || size > left) damaged("a list too long");  // every element takes a byte at least
        return size_t(size);
    }
};

template <typename Archive, typename... Values>
void archive_values(Archive& archive, Values&... values) {
    (archive.value(values), ...);
}

template <typename Archive, typename List>
void archive_list(Archive& archive, List& list) {
    for (auto& value : list) archive.value(value);
}

}  // namespace stap
