// What goes wrong inside: thrown here, caught at the C border, never beyond it.
#pragma once

#include <string>

#include "stap.h"

namespace stap {

struct Failure {
    stap_status status;
    std::string message;
};

[[noreturn]] inline void fail(stap_status status, std::string message) { throw Failure{status, std::move(message)}; }

}  // namespace stap
