// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

struct SolveTriangularArgs {
  int64_t batch, m, n;
  Matrices input, rows;
  bool upper, unit;
  bool by_transpose;  // the results are solved by the transpose too
  void* output;
};

REPDL_KERNEL(SolveTriangularKernel, SolveTriangularArgs)

}  // namespace repdl
