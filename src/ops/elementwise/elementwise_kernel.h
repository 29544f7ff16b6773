// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "drivers/map.h"

namespace repdl {

#define REPDL_UNARY(op, Function) REPDL_KERNEL(Function##Kernel, MapArgs)
#include "repdl/ops/unary.def"
#undef REPDL_UNARY
#define REPDL_BINARY(op, Function, first, second) REPDL_KERNEL(Function##Kernel, MapArgs)
#include "repdl/ops/binary.def"
#undef REPDL_BINARY

}  // namespace repdl
