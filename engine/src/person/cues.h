// What followed each cue: fading successor counts in bounded memory, every update in constant time. A cue is what held
// when an app was opened: the last apps, the length of a stay, an hour. The same arithmetic as in Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <unordered_map>
#include <vector>

namespace stap {

constexpr double kFade = 0.98;  // what is left of a successor's count after another visit to its cue

// An app's place in the tables. It is given on when the app is forgotten; the serial number tells the holders apart.
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
    void forget(uint32_t place);

   private:
    void shrink();
};

// A cue's name: its kind and the apps (or buckets) it consists of, in one number. 0: no cue.
uint64_t cue_key(uint32_t kind, std::initializer_list<uint32_t> parts);

// Two generations: a cue that comes up moves to the young one; when that is full, the old one is forgotten whole.
struct Cues {
    using Generation = std::unordered_map<uint64_t, Successors>;
    double fade;
    Generation young, old;

    explicit Cues(double fade_ = kFade) : fade(fade_) {}
    void add(uint64_t cue, AppId app);  // nothing for no cue
    const Successors* find(uint64_t cue) const;
    void forget(uint32_t place);  // whoever held it; those behind move up
    size_t bytes() const;         // held in memory, about
};

}  // namespace stap
