// phi: which virtual index an app holds. It grows app by app; when all indices are taken, that of the app unused for
// longest goes to the new one.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "stap.h"

namespace stap {

struct Phi {
    struct Slot {
        std::string app;
        uint64_t last_use = 0;
        bool used = false;
    };
    std::vector<uint16_t> free;  // indices nobody holds; the last one is taken next
    std::vector<Slot> slots;     // (V)
    std::unordered_map<std::string, uint16_t> index;
    uint64_t forgotten = 0;  // how many apps lost their index

    // `limit` of `vocabulary` indices may be used, in an order drawn from the seed.
    Phi(uint32_t vocabulary, uint32_t limit, uint64_t seed);
    Phi() = default;

    uint32_t index_of(const std::string& app) const {  // or STAP_NO_INDEX
        const auto held = index.find(app);
        return held == index.end() ? STAP_NO_INDEX : held->second;
    }
    // The app's index at this step; `recycled` says that another app held it until now.
    uint16_t use(const std::string& app, uint64_t step, bool& recycled);
    void forget(const std::string& app);  // one that holds an index: it is free again

   private:
    uint16_t recycle();
};

}  // namespace stap
