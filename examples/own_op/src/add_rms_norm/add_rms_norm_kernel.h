// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/order.h"

namespace repdl {

/// Tensors are (rows, n), row-major; weight has n numbers, rstd has one for each row.
template <class T>
struct AddRmsNormArgs {
  int64_t rows, n;
  const T *input, *residual, *weight;
  T eps;
  Order order;
  T *output, *sum, *rstd;
};

REPDL_REAL_KERNEL(AddRmsNormKernel, AddRmsNormArgs)

}  // namespace repdl
