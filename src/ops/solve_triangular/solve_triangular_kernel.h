// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

struct SolveTriangularArgs {
  int64_t batch, m, n;
  Matrices input, rows;
  bool upper, unit;
  bool by_adjoint;  // the results are solved by the conjugate transpose too
  bool pairs;       // of complex numbers
  void* output;
};

REPDL_KERNEL(SolveTriangularKernel, SolveTriangularArgs)

}  // namespace repdl
