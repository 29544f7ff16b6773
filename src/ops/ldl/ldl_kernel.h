// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

/// Factors of matrices of n x n; or, with `rows`, solutions for num_rows right sides of each.
struct LdlArgs {
  int64_t batch, n, num_rows;
  Matrices input;  // the matrices; or their factors as the op ldl gives them
  bool pairs;      // of complex numbers
  bool hermitian;
  int64_t* pivots;  // written, or read
  int64_t* info;    // null where right sides are solved
  Matrices rows;
  void* output;
};

REPDL_KERNEL(LdlKernel, LdlArgs)

}  // namespace repdl
