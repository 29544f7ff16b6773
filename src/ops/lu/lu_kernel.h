// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

/// Factors of `input`, m x n, or those that are given, and solutions for num_rows right sides of each.
struct LuArgs {
  int64_t batch, m, n, num_rows;
  Matrices input;    // the matrices; or their factors as the op lu gives them
  bool is_factored;  // then `pivots` are read; on the CPU they have been checked
  bool pivot, adjoint;
  bool pairs;     // of complex numbers
  Matrices rows;  // the right sides; without data those of the identity
  void* factors;  // null where they are not wanted
  int64_t* pivots;
  int64_t* info;  // null where it is not wanted
  void* output;   // null where nothing is solved
  void* det;      // null where it is not wanted
  void* sign;     // of the exchanges beside `det`, and of the determinant beside `logabsdet`
  void* logabsdet;
};

REPDL_KERNEL(LuKernel, LuArgs)

}  // namespace repdl
