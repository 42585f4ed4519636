// All memory that a test program holds, counted; for one source file of a program.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

inline size_t held = 0, peak = 0;  // bytes allocated by the engine and this program

inline void* counted(void* memory) {
    if (memory) held += malloc_usable_size(memory);
    peak = std::max(peak, held);
    return memory;
}

// The linker sends every call of these two here (see CMakeLists.txt); `new` comes by itself.
extern "C" {
void* __real_aligned_alloc(size_t align, size_t size);
void __real_free(void* memory);
void* __wrap_aligned_alloc(size_t align, size_t size) { return counted(__real_aligned_alloc(align, size)); }
void __wrap_free(void* memory) {
    if (memory) held -= malloc_usable_size(memory);
    __real_free(memory);
}
}
void* operator new(size_t size) {
    if (void* memory = counted(std::malloc(size ? size : 1))) return memory;
    throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return counted(std::malloc(size ? size : 1)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
