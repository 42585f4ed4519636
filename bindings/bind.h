// What the module's files share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>

void bind_constants(nanobind::module_& m);
void bind_evidence(nanobind::module_& m);

template <typename T, size_t N>
using Array = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<N>>;

// A numpy array with memory of its own.
template <typename T, size_t N>
Array<T, N> array(const size_t (&shape)[N], T fill) {
    size_t size = 1;
    for (size_t length : shape) size *= length;
    T* values = new T[size];
    std::fill(values, values + size, fill);
    nanobind::capsule owner(values, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Array<T, N>(values, N, shape, owner);
}
