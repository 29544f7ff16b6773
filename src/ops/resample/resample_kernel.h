// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/weighted_sum.h"

namespace repdl {

/// Weighted sums along the rows and the columns of planes (rows, columns, inner), which lie side by side. An axis
/// without sums stays as it is.
template <class T>
struct ResampleArgs {
  int64_t planes;
  int64_t in_rows, out_rows;
  int64_t in_columns, out_columns;
  int64_t inner;
  WeightedSums<T> rows, columns;
  bool rows_first;
  const T* input;
  T* output;
};

REPDL_REAL_KERNEL(ResampleKernel, ResampleArgs)

}  // namespace repdl
