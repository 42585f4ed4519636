// Which apps a caller wants to hear of. Names that were never seen cost no more than being read.
#pragma once

#include <string_view>
#include <unordered_set>

namespace stap {

struct Filter {
    bool all = true;  // or only those `among`
    std::unordered_set<std::string_view> among, without;

    bool is_everybody() const { return all && without.empty(); }
    bool passes(std::string_view app) const {
        return (all || among.count(app) > 0) && (without.empty() || without.count(app) == 0);
    }
};

}  // namespace stap
