// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "drivers/reduce.h"

namespace repdl {

struct CrossEntropyArgs {
  int64_t num_samples, num_classes;
  const float* input;
  Loops samples;  // of input
  int64_t class_stride;
  const int64_t* classes;      // null, or a target class a sample, side by side
  const float* probabilities;  // null, or strided as below
  Loops probability_samples;
  int64_t probability_stride;
  const float* weight;  // null, or one number a class
  int64_t ignore_index;
  double label_smoothing;
  Order order;

  // Forward.
  float* losses;          // one a sample
  float* sample_weights;  // the weight of each sample's class, +0 if it is ignored; null if nobody asks for them

  // Gradient.
  const float* grad_output;    // one number, or one a sample
  int64_t grad_output_stride;  // 0 or 1
  float factor;                // for nll_loss_grad a divisor
  float* grad_input;
  Loops grad_samples;
  int64_t grad_stride;
};

REPDL_KERNEL(CrossEntropyKernel, CrossEntropyArgs)
REPDL_KERNEL(CrossEntropyGradKernel, CrossEntropyArgs)
REPDL_KERNEL(NllLossKernel, CrossEntropyArgs)
REPDL_KERNEL(NllLossGradKernel, CrossEntropyArgs)

}  // namespace repdl
