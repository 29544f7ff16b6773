// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

/// Of the halves as operands.
REPDL_KERNEL(GluKernel, MapArgs)

/// Along the second dimension of (outer, 2, inner), all row-major and of one dtype.
struct GluGradArgs {
  DType dtype;
  int64_t outer, inner;
  const void* grad_output;
  const void* input;
  void* grad_input;
};

REPDL_KERNEL(GluGradKernel, GluGradArgs)

}  // namespace repdl
