// A strict JSON reader for headers: no duplicate keys, no trailing text, bounded depth and number of values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stap {

struct Json {
    enum Kind { kNull, kBool, kNumber, kString, kArray, kObject };
    Kind kind = kNull;
    bool flag = false;
    std::string text;                                   // of a string, or a number as it was written
    std::vector<Json> items;                            // of an array
    std::vector<std::pair<std::string, Json>> members;  // of an object, in the file's order

    const Json* find(std::string_view key) const;
    bool is_whole() const;   // a number written with digits only, below 2^53
    uint64_t whole() const;  // its value; only after is_whole()
    double number() const;   // only of a kNumber
};

// Fails with STAP_ERROR_FORMAT; `where` begins the message.
Json json_parse(std::string_view text, const std::string& where);

}  // namespace stap
