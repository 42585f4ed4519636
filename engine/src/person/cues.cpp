#include "person/cues.h"

#include <algorithm>
#include <iterator>

#include "hash.h"
#include "person/bounds.h"

namespace stap {

constexpr double kHuge = 1e100;

void Successors::add(AppId app, double fade) {
    unit /= fade;
    const auto known =
        std::find_if(list.begin(), list.end(), [&](const Successor& s) { return s.app.serial == app.serial; });
    if (known != list.end())
        known->weight += unit;
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
    for (Successor& s : list) {
        s.weight /= unit;
        total += s.weight;
    }
    unit = 1;
}

void Successors::forget(uint32_t place) {
    const auto held = [&](const Successor& s) { return s.app.place == place; };
    const size_t before = list.size();
    list.erase(std::remove_if(list.begin(), list.end(), held), list.end());
    for (Successor& s : list) s.app.place -= s.app.place > place;
    if (list.size() == before) return;
    total = 0;
    for (const Successor& s : list) total += s.weight;
}

uint64_t cue_key(uint32_t kind, std::initializer_list<uint32_t> parts) {
    uint64_t key = hash_mix(kind);
    for (uint32_t part : parts) key = hash_mix(key ^ part);
    return key;
}

void Cues::add(uint64_t cue, AppId app) {
    if (cue == 0) return;
    auto entry = young.find(cue);
    if (entry == young.end()) {
        if (young.size() >= kGeneration) {
            old = std::move(young);
            young = {};
        }
        Successors kept;
        const auto before = old.find(cue);
        if (before != old.end()) {
            kept = std::move(before->second);
            old.erase(before);
        }
        entry = young.emplace(cue, std::move(kept)).first;
    }
    entry->second.add(app, fade);
}

const Successors* Cues::find(uint64_t cue) const {
    for (const Generation* generation : {&young, &old}) {
        const auto entry = generation->find(cue);
        if (entry != generation->end()) return &entry->second;
    }
    return nullptr;
}

void Cues::forget(uint32_t place) {
    for (Generation* generation : {&young, &old})
        for (auto entry = generation->begin(); entry != generation->end();) {
            entry->second.forget(place);
            entry = entry->second.list.empty() ? generation->erase(entry) : std::next(entry);
        }
}

size_t Cues::bytes() const {
    size_t bytes = 0;
    for (const Generation* generation : {&young, &old})
        for (const auto& entry : *generation)
            bytes += sizeof entry + 16 + entry.second.list.capacity() * sizeof(Successor);
    return bytes;
}

}  // namespace stap
