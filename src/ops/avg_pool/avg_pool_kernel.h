// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/weighted_sum.h"

namespace repdl {

/// Sums of windows of planes (rows, columns, inner), which lie side by side: a window has some rows, and of each of them
/// some columns, all with weight 1. Of a volume the rows are those of all its planes.
template <class T>
struct AvgPoolArgs {
  int64_t planes, inner;
  WeightedSums<T> rows, columns;
  T divisor;               // 0: the product of the counts of rows and columns
  const T* row_counts;     // of windows
  const T* column_counts;  // of windows
  bool gradient;           // divides before the sums, and not after them
  const T* input;
  T* output;
  T* quotients;  // as input, for the gradient
};

REPDL_REAL_KERNEL(AvgPoolKernel, AvgPoolArgs)

}  // namespace repdl
