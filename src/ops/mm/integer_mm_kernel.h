// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"
#include "drivers/reduce.h"
#include "repdl/tensor.h"

namespace repdl {

/// c = a b for each matrix of a batch, of integers that are added and multiplied as unsigned ones of their size. Matrix i of
/// an operand lies at element Offset(i) of its loops; those of the result lie side by side, row-major.
struct IntegerMmArgs {
  int64_t m, n, k;
  int64_t batch;
  DType dtype;
  const void* a;
  int64_t a_row_stride, a_col_stride;
  Loops a_batch;
  const void* b;
  int64_t b_row_stride, b_col_stride;
  Loops b_batch;
  void* c;
};

REPDL_KERNEL(IntegerMmKernel, IntegerMmArgs)

}  // namespace repdl
