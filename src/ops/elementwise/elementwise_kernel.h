// SPDX-License-Identifier: MIT
#pragma once

#include "base/cuda_kernel.h"
#include "drivers/map.h"

namespace repdl {

#define REPDL_UNARY(op, Function) REPDL_DEVICE_KERNEL(elementwise, Function##Kernel, MapArgs)
#include "repdl/ops/unary.def"
#undef REPDL_UNARY
#define REPDL_BINARY(op, Function, first, second) REPDL_DEVICE_KERNEL(elementwise, Function##Kernel, MapArgs)
#include "repdl/ops/binary.def"
#undef REPDL_BINARY

}  // namespace repdl
