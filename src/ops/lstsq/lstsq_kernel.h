// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

struct LstsqArgs {
  int64_t batch, m, n, num_rows;  // none of the first three is 0
  Matrices input, rows;
  double rcond;
  bool pivot;
  bool pairs;  // of complex numbers
  void* output;
  int64_t* ranks;
};

REPDL_KERNEL(LstsqKernel, LstsqArgs)

}  // namespace repdl
