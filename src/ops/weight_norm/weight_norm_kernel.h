// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/order.h"

namespace repdl {

/// Tensors are row-major. v has `rows` rows of n numbers that share a norm: number i of a row lies behind the one before,
/// or, where the rows lie across memory, beside the numbers i of the other rows.
template <class T>
struct WeightNormArgs {
  int64_t rows, n;
  bool across;
  Order order;
  const T* v;
  const T* g;  // a number a row
  T* output;   // w, or the gradient of v
  T* of_rows;  // a number a row: its norm, or the gradient of g

  // Gradient.
  const T* grad_output;
  const T* norm;
};

REPDL_REAL_KERNEL(WeightNormKernel, WeightNormArgs)
REPDL_REAL_KERNEL(WeightNormGradKernel, WeightNormArgs)

}  // namespace repdl
