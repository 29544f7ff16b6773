// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/reduce.h"

namespace repdl {

/// out[r] = the largest, or the smallest, over the reduced loops, for each r of the kept loops.
struct AmaxArgs {
  const void* x;
  DType dtype;  // of both tensors
  Loops kept, reduced;
  bool smallest;
  void* out;
};

REPDL_KERNEL(AmaxKernel, AmaxArgs)

}  // namespace repdl
