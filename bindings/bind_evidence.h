#pragma once

#include <nanobind/nanobind.h>

void bind_evidence(nanobind::module_& m);
