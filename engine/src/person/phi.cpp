#include "person/phi.h"

#include <utility>

#include "hash.h"

namespace stap {

Phi::Phi(uint32_t vocabulary, uint32_t limit, uint64_t seed, std::vector<uint16_t> order)
    : free(std::move(order)), slots(vocabulary) {
    if (free.empty()) {
        for (uint32_t i = 0; i < vocabulary; ++i) free.push_back(uint16_t(i));
        for (uint32_t i = vocabulary; i > 1; --i) std::swap(free[i - 1], free[hash_mix(seed ^ hash_mix(i)) % i]);
    }
    free.erase(free.begin(), free.end() - limit);
}

uint16_t Phi::use(const std::string& app, uint64_t step, bool& recycled) {
    recycled = false;
    const auto found = index.find(app);
    if (found != index.end()) {
        slots[found->second].last_use = step;
        return found->second;
    }
    recycled = free.empty();
    const uint16_t taken = recycled ? recycle() : free.back();
    if (!recycled) free.pop_back();
    index.emplace(app, taken);
    slots[taken] = {app, step, true};
    return taken;
}

uint16_t Phi::recycle() {
    size_t oldest = slots.size();
    for (size_t i = 0; i < slots.size(); ++i)
        if (slots[i].used && (oldest == slots.size() || slots[i].last_use < slots[oldest].last_use)) oldest = i;
    index.erase(slots[oldest].app);
    ++forgotten;
    return uint16_t(oldest);
}

}  // namespace stap
