// How fast one thread reads memory: the bound that `stap bench latency` holds the engine to.
#pragma once

#include <cstddef>

double read_bandwidth(size_t bytes);  // bytes a second of CPU time, the best of several passes over a buffer
