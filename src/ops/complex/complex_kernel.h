// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

/// A map of pairs: strides are those from pair to pair, counted in numbers.
struct PairsArgs {
  MapArgs map;
  /// From the real part of an operand to its imaginary part.
  int64_t part_strides[MapArgs::kMaxInputs] = {};
};

#define REPDL_COMPLEX_UNARY(op, Function, Lanes) REPDL_KERNEL(Function##Kernel, PairsArgs)
#define REPDL_COMPLEX_BINARY(op, Function, Lanes, first, second) REPDL_KERNEL(Function##Kernel, PairsArgs)
#include "repdl/ops/complex.def"
#undef REPDL_COMPLEX_UNARY
#undef REPDL_COMPLEX_BINARY

}  // namespace repdl
