// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

struct MatrixExpArgs {
  int64_t batch, n;
  Matrices input;
  void* output;
};

REPDL_KERNEL(MatrixExpKernel, MatrixExpArgs)

}  // namespace repdl
