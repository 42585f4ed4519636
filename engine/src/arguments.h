// What callers of any version give, as this version takes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "failure.h"
#include "stap.h"

namespace stap {

// A path as a message shows it: on one line, and of a long one the end.
inline std::string shown(std::string path) {
    constexpr size_t kLongest = 160;
    if (path.size() > kLongest) {
        size_t cut = path.size() - kLongest;
        while (cut < path.size() && (path[cut] & 0xc0) == 0x80) ++cut;  // not inside a character
        path = "..." + path.substr(cut);
    }
    for (char& c : path)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return path;
}

// What a caller of any version gives, as this version has it: see stap.h.
inline stap_options known_options(const stap_options* given) {
    constexpr size_t kFirst = offsetof(stap_options, seed) + sizeof(uint64_t), kMost = 4096;  // bytes: version 0.1's
    static_assert(sizeof(stap_options) == kFirst, "bytes that pad the end would be taken for the next field");
    stap_options options = stap_options_default();
    if (!given) return options;
    const auto* bytes = reinterpret_cast<const unsigned char*>(given);
    if (given->size < kFirst || given->size > kMost) fail(STAP_ERROR_ARGUMENT, "options without a size");
    if (std::any_of(bytes + std::min(sizeof options, given->size), bytes + given->size, [](int b) { return b != 0; }))
        fail(STAP_ERROR_ARGUMENT, "options of a later version");
    std::memcpy(&options, bytes, std::min(sizeof options, given->size));
    return options;
}

}  // namespace stap
