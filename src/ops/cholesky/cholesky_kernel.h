// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

struct CholeskyArgs {
  int64_t batch, n;
  Matrices input;
  void* output;
  int64_t* info;
  bool pairs;  // of complex numbers
};

REPDL_KERNEL(CholeskyKernel, CholeskyArgs)

}  // namespace repdl
