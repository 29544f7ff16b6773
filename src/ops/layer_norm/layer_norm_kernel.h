// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "repdl/order.h"

namespace repdl {

/// Tensors are (rows, n), row-major. For rms_norm, mean and grad_bias are null: its mean is +0.
struct LayerNormArgs {
  int64_t rows, n;
  const float* input;
  const float* weight;  // (affine_rows, n): 1, which changes nothing, in the place of none
  const float* bias;    // likewise: -0
  int64_t affine_rows;  // row r of input goes with row r % affine_rows of these
  float eps;
  Order order;
  float* mean;  // a number a row, filled by the forward pass
  float* rstd;
  float* output;

  // Gradient.
  const float* grad_output;
  float* grad_input;
  float* grad_weight;  // null, or n numbers for one row of weight
  float* grad_bias;
};

REPDL_KERNEL(LayerNormKernel, LayerNormArgs)
REPDL_KERNEL(LayerNormGradKernel, LayerNormArgs)

}  // namespace repdl
