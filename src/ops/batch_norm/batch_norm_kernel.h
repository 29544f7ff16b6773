// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "drivers/reduce.h"

namespace repdl {

/// Tensors are (samples, channels, places), row-major.
struct BatchNormArgs {
  int64_t samples, channels, places;
  const float* input;
  const float* weight;  // null, or one number a channel
  const float* bias;    // likewise
  float eps;
  Order order;
  bool training;
  float* mean;  // filled by a training forward pass, else read
  float* var;
  float* output;

  // Gradient.
  const float* grad_output;
  float* grad_input;
  float* grad_weight;
  float* grad_bias;
};

REPDL_KERNEL(BatchNormKernel, BatchNormArgs)
REPDL_KERNEL(BatchNormGradKernel, BatchNormArgs)

}  // namespace repdl
