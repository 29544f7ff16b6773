// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "repdl/order.h"

namespace repdl {

/// The gradients by weight and bias; the rest is layer_norm's kernels, a row for each group of each sample. Tensors are
/// (samples, channels, places), row-major.
struct GroupNormGradArgs {
  int64_t samples, channels, places, groups;
  const float* grad_output;
  const float* input;
  const float* mean;  // (samples, groups)
  const float* rstd;
  Order order;
  float* grad_weight;
  float* grad_bias;
};

REPDL_KERNEL(GroupNormGradKernel, GroupNormGradArgs)

}  // namespace repdl
