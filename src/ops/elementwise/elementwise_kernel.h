// SPDX-License-Identifier: MIT
#pragma once

#include "base/cuda_kernel.h"
#include "drivers/map.h"

namespace repdl {

#define REPDL_UNARY(op, Function, Lanes, dtypes) REPDL_DEVICE_KERNEL(elementwise, Function##Kernel, MapArgs)
#define REPDL_BINARY(op, Function, Lanes, dtypes, first, second) \
  REPDL_DEVICE_KERNEL(elementwise, Function##Kernel, MapArgs)
#include "repdl/ops/elementwise.def"
#undef REPDL_UNARY
#undef REPDL_BINARY

}  // namespace repdl
