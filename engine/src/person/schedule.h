// Which cache predicts at a step, and where each begins: pure functions of the step, so nothing has to be remembered.
#pragma once

#include <algorithm>
#include <cstdint>

#include "stap.h"

namespace stap {

constexpr uint64_t kNotYet = UINT64_MAX;

struct Schedule {
    stap_strategy strategy;
    uint32_t context;  // L

    uint32_t half() const { return context / 2; }
    uint64_t stage(uint64_t step) const { return step / half(); }

    // The cache that predicts after the event of this step.
    uint32_t active(uint64_t step) const {
        return strategy == STAP_ISWI && stage(step) > 0 && stage(step) % 2 == 0 ? 1 : 0;
    }

    // The step of a cache's first event, when the event of `step` is the newest; kNotYet: it has none.
    uint64_t first(uint32_t cache, uint64_t step) const {
        const uint64_t i = stage(step);
        switch (strategy) {
            case STAP_ISWI:  // cache 0 begins anew with every even stage, cache 1 with every odd one
                if (cache == 0) return i / 2 * 2 * half();
                return i == 0 ? kNotYet : (i - 1) / 2 * 2 * half() + half();
            case STAP_RESET: return cache == 0 ? step / context * context : kNotYet;
            case STAP_REPREFILL:  // full at L events: then the newer half is kept
                return cache == 0 ? (step < context ? 0 : (i - 1) * half()) : kNotYet;
            default: return cache == 0 ? 0 : kNotYet;
        }
    }

    // Of `taken` events, those evicted again.
    uint32_t dropped(uint32_t taken) const { return strategy == STAP_ROLLING && taken > context ? taken - context : 0; }
};

}  // namespace stap
