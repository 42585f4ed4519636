// What followed each context: fading successor counts in bounded memory, every update in constant time.
// The same arithmetic as predictors/contexts.py.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <unordered_map>
#include <vector>

namespace stap {

// An app's place in the tables. A place is given on when its app is forgotten; the serial number tells the holders
// apart.
struct AppId {
    uint32_t place, serial;
};

struct Successor {
    AppId app;
    double weight;
};

// Instead of fading every count, a newer visit weighs more: only the ratio to `unit`, one visit now, has a meaning.
struct Successors {
    std::vector<Successor> list;
    double unit = 1, total = 0;

    void add(AppId app, double fade);

   private:
    void shrink();
};

// A context's name: what kind it is and the apps (or buckets) it consists of, in one number.
uint64_t context_key(uint32_t kind, std::initializer_list<uint32_t> parts);

// Two generations: a context that comes up moves to the young one; when that is full, the old one is forgotten whole.
struct Contexts {
    using Generation = std::unordered_map<uint64_t, Successors>;
    double fade;
    Generation young, old;

    explicit Contexts(double fade_) : fade(fade_) {}
    void add(uint64_t context, AppId app);
    const Successors* find(uint64_t context) const;
};

}  // namespace stap
