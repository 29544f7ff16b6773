// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/cpu_target.h"

namespace repdl {

/// The rows of double_trig.def.
enum class DoubleTrig {
#define DOUBLE_UNARY(op, Name) k##Name,
#define DOUBLE_BINARY(op, Name) k##Name,
#include "cpp/double_trig.def"
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
};

/// out[i] = function(x[i]) or function(x[i], y[i]) on the active target; n is a multiple of 8.
struct DoubleTrigProbe {
  DoubleTrig function;
  const double *x, *y;
  double* out;
  int64_t n;
};
REPDL_KERNEL(ProbeDoubleTrig, DoubleTrigProbe)

}  // namespace repdl
