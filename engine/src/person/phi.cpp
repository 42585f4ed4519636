#include "person/phi.h"

#include <numeric>
#include <utility>

#include "hash.h"

namespace stap {

// Fisher and Yates; OnlinePhi in Python draws the same order.
Phi::Phi(uint32_t vocabulary, uint32_t limit, uint64_t seed) : free(vocabulary), slots(vocabulary) {
    std::iota(free.begin(), free.end(), uint16_t(0));
    for (uint32_t i = vocabulary; i > 1; --i) std::swap(free[i - 1], free[hash_mix(seed ^ hash_mix(i)) % i]);
    free.erase(free.begin(), free.end() - limit);
}

uint16_t Phi::use(const std::string& app, uint64_t step, bool& recycled) {
    recycled = false;
    const auto known = index.find(app);
    if (known != index.end()) {
        slots[known->second].last_use = step;
        return known->second;
    }
    recycled = free.empty();
    const uint16_t taken = recycled ? recycle() : free.back();
    if (!recycled) free.pop_back();
    index.emplace(app, taken);
    slots[taken] = {app, step, true};
    return taken;
}

void Phi::forget(const std::string& app) {
    const auto known = index.find(app);
    slots[known->second] = Slot();
    free.push_back(known->second);
    index.erase(known);
    ++forgotten;
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
