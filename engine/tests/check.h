// A test is a function; CHECK says where it failed, and main returns how often.
#pragma once

#include <cstdio>
#include <string>

inline int failures = 0;

#define CHECK(fine)                                                \
    do {                                                           \
        if (!(fine)) {                                             \
            ++failures;                                            \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #fine); \
        }                                                          \
    } while (0)

inline void check_equal(const std::string& found, const std::string& wanted, const char* file, int line) {
    if (found == wanted) return;
    ++failures;
    std::printf("%s:%d: found \"%s\", wanted \"%s\"\n", file, line, found.c_str(), wanted.c_str());
}
#define CHECK_EQUAL(found, wanted) check_equal(found, wanted, __FILE__, __LINE__)
