// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/order.h"

namespace repdl {

/// Tensors are row-major.
template <class T>
struct MarginLossArgs {
  int64_t rows, classes;
  const T* input;
  const int64_t* target;  // one a row, or as many as classes
  Order order;
  T* losses;  // one a row

  // Of multi_margin.
  bool is_squared;
  T margin;
  const T* weight;  // null, or one number a class

  // Of multilabel_margin.
  T* is_target;

  // Gradient.
  const T* grad_output;  // one a row
  T part;
  T* grad_input;
};

REPDL_REAL_KERNEL(MultiMarginKernel, MarginLossArgs)
REPDL_REAL_KERNEL(MultiMarginGradKernel, MarginLossArgs)
REPDL_REAL_KERNEL(MultilabelMarginKernel, MarginLossArgs)
REPDL_REAL_KERNEL(MultilabelMarginGradKernel, MarginLossArgs)

}  // namespace repdl
