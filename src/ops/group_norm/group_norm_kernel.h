// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/order.h"

namespace repdl {

/// The gradients by weight and bias; the rest is layer_norm's kernels, a row for each group of each sample. Tensors are
/// (samples, channels, places), row-major.
template <class T>
struct GroupNormGradArgs {
  int64_t samples, channels, places, groups;
  const T* grad_output;
  const T* input;
  const T* mean;  // (samples, groups)
  const T* rstd;
  Order order;
  T* grad_weight;
  T* grad_bias;
};

REPDL_REAL_KERNEL(GroupNormGradKernel, GroupNormGradArgs)

}  // namespace repdl
