// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "drivers/matrices.h"

namespace repdl {

struct GeqrfArgs {
  int64_t batch, m, n;
  Matrices input;
  bool pivot;
  void* factors;
  void* tau;
  int64_t* order;
};

struct HouseholderArgs {
  int64_t batch, m, num_reflections, num_rows;
  Matrices factors, tau, rows;  // tau as matrices of one row
  bool adjoint;
  void* output;
};

REPDL_KERNEL(GeqrfKernel, GeqrfArgs)
REPDL_KERNEL(HouseholderKernel, HouseholderArgs)

}  // namespace repdl
