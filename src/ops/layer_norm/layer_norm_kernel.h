// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/order.h"

namespace repdl {

/// Tensors are (rows, n), row-major. For rms_norm, mean and grad_bias are null: its mean is +0.
template <class T>
struct LayerNormArgs {
  int64_t rows, n;
  const T* input;
  const T* weight;      // (affine_rows, n / places): 1, which changes nothing, in the place of none
  const T* bias;        // likewise: -0
  int64_t affine_rows;  // row r of input goes with row r % affine_rows of these
  int64_t places;       // as many numbers of the row go with each of them; 1 where there is a gradient by the weight
  T eps;
  Order order;
  T* mean;  // a number a row, filled by the forward pass
  T* rstd;
  T* output;

  // Gradient.
  const T* grad_output;
  T* grad_input;
  T* grad_weight;  // null, or n numbers for one row of weight
  T* grad_bias;
};

REPDL_REAL_KERNEL(LayerNormKernel, LayerNormArgs)
REPDL_REAL_KERNEL(LayerNormGradKernel, LayerNormArgs)

}  // namespace repdl
