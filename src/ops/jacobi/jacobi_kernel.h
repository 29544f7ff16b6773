// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "drivers/matrices.h"

namespace repdl {

struct JacobiArgs {
  int64_t batch, n, m, width;
  double tolerance;
  Matrices input;
  void* output;
  int64_t* sweeps;
};

REPDL_KERNEL(JacobiKernel, JacobiArgs)

}  // namespace repdl
