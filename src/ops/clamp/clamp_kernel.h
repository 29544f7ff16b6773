// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

/// With one operand the bounds are the numbers, with three the last two operands.
struct ClampArgs {
  MapArgs map;
  double min, max;  // rounded to the type that is computed in
};

REPDL_KERNEL(ClampKernel, ClampArgs)

}  // namespace repdl
