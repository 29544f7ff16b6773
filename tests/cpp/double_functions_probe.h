// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/cpu_target.h"

namespace repdl {

/// The rows of double_functions.def and double_trig.def.
enum class DoubleFunction {
#define DOUBLE_UNARY(op, Name) k##Name,
#define DOUBLE_BINARY(op, Name) k##Name,
#define DOUBLE_GRADIENT(Name, expression) k##Name,
#include "cpp/double_functions.def"
#include "cpp/double_trig.def"
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
#undef DOUBLE_GRADIENT
};

/// out[i] = function(x[i]) or function(x[i], y[i]) on the active target; n is a multiple of 8.
struct DoubleFunctionProbe {
  DoubleFunction function;
  const double *x, *y;
  double* out;
  int64_t n;
};
REPDL_KERNEL(ProbeDoubleFunction, DoubleFunctionProbe)

}  // namespace repdl
