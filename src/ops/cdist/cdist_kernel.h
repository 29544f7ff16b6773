// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "numerics/order.h"
#include "repdl/order.h"
#include "repdl/tensor.h"

namespace repdl {

/// Distances between rows of k numbers, which are row-major matrices, or their gradient by x1.
template <class T>
struct CdistArgs {
  int64_t batch, m, n, k;
  const T* x1;               // m rows
  const T* x2;               // n rows
  int64_t x1_step, x2_step;  // from a matrix to the next
  double p;
  Order order;
  /// x1 and x2 are one matrix: each row meets those behind it, and their distances lie one after the other.
  bool pairs;
  /// Of distances: that from row i to row j is at i * row_stride + j * col_stride, unless these are of pairs.
  int64_t row_stride, col_stride;

  T* output;             // (batch, m, n) or pairs
  const T* distance;     // the same
  const T* grad_output;  // the same
  T* grad;               // (batch, m, k)

  /// Where the distances of row i of pairs begin: that from row j is j behind it.
  REPDL_WALK int64_t Pairs(int64_t i) const { return i * n - i * (i + 1) / 2 - i - 1; }
};

REPDL_REAL_KERNEL(CdistKernel, CdistArgs)
REPDL_REAL_KERNEL(CdistGradKernel, CdistArgs)

}  // namespace repdl
