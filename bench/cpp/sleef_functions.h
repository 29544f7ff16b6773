// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/kernel.h"

namespace repdl {

/// out[i] = f(x[i]) or f(x[i], y[i]) for i < n, n a multiple of 16.
using FunctionRun = void (*)(const float* x, const float* y, float* out, int64_t n);

/// The functions of Sleef of at most 1.0 ULP (erfc: 1.5), in vectors as wide as the target's, by the names of our ops.
struct SleefFunction {
  std::string_view op;
  FunctionRun run;
};
struct SleefQuery {
  std::span<const SleefFunction>* functions;
};
REPDL_KERNEL(FindSleefFunctions, SleefQuery)

}  // namespace repdl
