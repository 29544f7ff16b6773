// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

/// The numbers are rounded to the type that is computed in.
struct SpacedArgs {
  MapArgs map;
  double start, end;
  int64_t count;
};

REPDL_KERNEL(SpacedKernel, SpacedArgs)

}  // namespace repdl
