// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

// A file that compiles one family names it, so that a row of another family does not compile it again.
#ifndef REPDL_FAMILY
#define REPDL_FAMILY "repdl/ops/elementwise.def"
#endif

namespace repdl {

#define REPDL_UNARY(op, Function, Lanes, dtypes) REPDL_KERNEL(Function##Kernel, MapArgs)
#define REPDL_BINARY(op, Function, Lanes, dtypes, first, second) REPDL_KERNEL(Function##Kernel, MapArgs)
#include REPDL_FAMILY
#undef REPDL_UNARY
#undef REPDL_BINARY

}  // namespace repdl
