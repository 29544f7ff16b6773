// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/reduce.h"

namespace repdl {

/// Tensors are (samples, channels, places), row-major.
template <class T>
struct BatchNormArgs {
  int64_t samples, channels, places;
  const T* input;
  const T* weight;  // null, or one number a channel
  const T* bias;    // likewise
  T eps;
  Order order;
  bool training;
  T* mean;  // filled by a training forward pass, else read
  T* var;
  T* output;  // null where only the statistics are asked for

  // Gradient.
  const T* grad_output;
  T* grad_input;
  T* grad_weight;
  T* grad_bias;
};

REPDL_REAL_KERNEL(BatchNormKernel, BatchNormArgs)
REPDL_REAL_KERNEL(BatchNormGradKernel, BatchNormArgs)

/// running = running * keep + take * (value * factor), for each channel.
template <class T>
struct BatchNormUpdateArgs {
  int64_t channels;
  T* running;
  int64_t running_stride;
  const T* value;
  int64_t value_stride;
  T keep, take, factor;
};

REPDL_REAL_KERNEL(BatchNormUpdateKernel, BatchNormUpdateArgs)

}  // namespace repdl
