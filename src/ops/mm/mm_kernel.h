// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"
#include "drivers/reduce.h"
#include "numerics/order.h"
#include "repdl/order.h"
#include "repdl/tensor.h"

namespace repdl {

/// c = a b (+ bias) for each matrix of a batch. Strides count elements. Matrix i of an operand lies at element
/// Offset(i) of its loops, which has none if one matrix serves the whole batch; c is row-major, and the matrices of the
/// result lie side by side.
struct MmArgs {
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
  const void* bias;  // null, or one number a column
  int64_t bias_stride;
  Order order;
};

REPDL_KERNEL(MmKernel, MmArgs)

/// The number of terms after which a chain of products restarts.
inline int64_t ChainLength(Order order, int64_t num_k) {
  return order == Order::kBlocked ? kProductChunk : (num_k > 0 ? num_k : 1);
}

}  // namespace repdl
