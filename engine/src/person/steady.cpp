// A row that adapts its set and keeps the order of who stays. steady.py is the same in Python.
#include <cstring>

#include "stap.h"

namespace {

// The first of so many with this name, or null.
const stap_candidate* find(const stap_candidate* list, size_t count, const stap_candidate& wanted) {
    for (size_t i = 0; i < count; ++i)
        if (list[i].length == wanted.length && std::memcmp(list[i].app, wanted.app, wanted.length) == 0)
            return list + i;
    return nullptr;
}

bool are_names(const stap_candidate* list, size_t count) {
    if (!list && count > 0) return false;
    for (size_t i = 0; i < count; ++i)
        if (!list[i].app) return false;
    return true;
}

}  // namespace

extern "C" stap_status stap_steady(const stap_candidate* shown, size_t shown_count, const stap_candidate* ranked,
                                   size_t ranked_count, stap_candidate* row) {
    if (!are_names(shown, shown_count) || !are_names(ranked, ranked_count) || (!row && ranked_count > 0))
        return STAP_ERROR_ARGUMENT;
    for (size_t i = 0; i < ranked_count; ++i)
        if (find(ranked, i, ranked[i])) return STAP_ERROR_ARGUMENT;
    for (size_t i = 0; i < ranked_count; ++i) row[i].app = nullptr;
    size_t left = ranked_count;  // slots to the left of those who have theirs
    for (size_t slot = shown_count; slot-- > 0;) {
        const stap_candidate* stays = find(ranked, ranked_count, shown[slot]);
        if (!stays || find(shown, slot, shown[slot])) continue;
        left = slot < left ? slot : left - 1;
        row[left] = *stays;
    }
    const stap_candidate* next = ranked;
    for (size_t slot = 0; slot < ranked_count; ++slot) {
        if (row[slot].app) continue;
        while (find(shown, shown_count, *next)) ++next;
        row[slot] = *next++;
    }
    return STAP_OK;
}
