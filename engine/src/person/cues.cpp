#include "person/cues.h"

#include <algorithm>

#include "hash.h"
#include "person/bounds.h"

namespace stap {

constexpr double kHuge = 1e100;

void Successors::add(AppId app, double fade) {
    unit /= fade;
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const Successor& s) { return s.app.serial == app.serial; });
    if (found != list.end())
        found->weight += unit;
    else
        list.push_back({app, unit});
    total += unit;
    if (list.size() > kSuccessors || unit > kHuge) shrink();
}

void Successors::shrink() {
    std::stable_sort(list.begin(), list.end(),
                     [](const Successor& a, const Successor& b) { return a.weight > b.weight; });
    if (list.size() > kSuccessors) list.resize(kSuccessors / 2);
    total = 0;
    for (Successor& s : list) total += s.weight /= unit;
    unit = 1;
}

uint64_t context_key(uint32_t kind, std::initializer_list<uint32_t> parts) {
    uint64_t key = hash_mix(kind);
    for (uint32_t part : parts) key = hash_mix(key ^ part);
    return key;
}

void Contexts::add(uint64_t context, AppId app) {
    auto found = young.find(context);
    if (found == young.end()) {
        if (young.size() >= kGeneration) {
            old = std::move(young);
            young = {};
        }
        Successors kept;
        const auto before = old.find(context);
        if (before != old.end()) {
            kept = std::move(before->second);
            old.erase(before);
        }
        found = young.emplace(context, std::move(kept)).first;
    }
    found->second.add(app, fade);
}

const Successors* Contexts::find(uint64_t context) const {
    for (const Generation* generation : {&young, &old}) {
        const auto found = generation->find(context);
        if (found != generation->end()) return &found->second;
    }
    return nullptr;
}

}  // namespace stap
