// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// c[i, j] = fma(-a[i, k], b[k, j], c[i, j]) for k ascending: Chain(c[i, j]; a[i, k], b[k, j]) of the contract. The rows
/// of b and c hold numbers side by side.
struct ChainArgs {
  int64_t m, n, k;
  const double* a;
  int64_t a_row_stride, a_col_stride;
  const double* b;
  int64_t b_row_stride;
  double* c;
  int64_t c_row_stride;
  bool upper;  // c[i, j] with j < i is scratch: it may change or not
};

/// On several threads where it pays, unless it is called by a task.
REPDL_KERNEL(SubtractProduct, ChainArgs)

}  // namespace repdl
