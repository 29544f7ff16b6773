// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

struct GeqrfArgs {
  int64_t batch, m, n;
  Matrices input;
  bool pivot;
  void* factors;  // null where q and r are wanted, and then `tau` and `order` too
  void* tau;
  int64_t* order;
  int64_t num_columns;  // of Q
  void* q;
  void* r;
  bool pairs;
};

struct HouseholderArgs {
  int64_t batch, m, num_reflections, num_rows;
  Matrices factors, tau, rows;  // tau as matrices of one row; rows without data are those of the identity
  bool adjoint;
  void* output;
  bool pairs;
};

REPDL_KERNEL(GeqrfKernel, GeqrfArgs)
REPDL_KERNEL(HouseholderKernel, HouseholderArgs)

}  // namespace repdl
