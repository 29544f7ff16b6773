// SPDX-License-Identifier: MIT
#pragma once

#include "base/real_kernel.h"
#include "ops/conv2d/conv2d_plan.h"
#include "repdl/order.h"

namespace repdl {

/// All tensors are row-major.
template <class T>
struct Conv2dArgs {
  Conv2dSizes sizes;
  ConvPlan plan;
  const T* source;  // what the plan reads
  const T* other;   // forward: weight; by input: weight as (groups, c, o, taps); by weight: grad_output
  const T* bias;    // null, or one number an output channel
  T* result;
  Order order;
};

REPDL_REAL_KERNEL(Conv2dKernel, Conv2dArgs)            // result: output
REPDL_REAL_KERNEL(Conv2dGradInputKernel, Conv2dArgs)   // result: gradient of the input, where the plan has positions
REPDL_REAL_KERNEL(Conv2dGradWeightKernel, Conv2dArgs)  // result: gradient of the weight

}  // namespace repdl
