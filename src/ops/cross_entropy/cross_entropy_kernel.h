// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/reduce.h"

namespace repdl {

template <class T>
struct CrossEntropyArgs {
  int64_t num_samples, num_classes;
  const T* input;
  Loops samples;  // of input
  int64_t class_stride;
  const int64_t* classes;  // null, or a target class a sample, side by side
  const T* probabilities;  // null, or strided as below
  Loops probability_samples;
  int64_t probability_stride;
  const T* weight;  // null, or one number a class
  int64_t ignore_index;
  double label_smoothing;
  Order order;

  // Forward.
  T* losses;          // one a sample
  T* sample_weights;  // the weight of each sample's class, +0 if it is ignored; null if nobody asks for them

  // Gradient.
  const T* grad_output;        // one number, or one a sample
  int64_t grad_output_stride;  // 0 or 1
  T factor;                    // for nll_loss_grad a divisor
  T* grad_input;
  Loops grad_samples;
  int64_t grad_stride;
};

REPDL_REAL_KERNEL(CrossEntropyKernel, CrossEntropyArgs)
REPDL_REAL_KERNEL(CrossEntropyGradKernel, CrossEntropyArgs)
REPDL_REAL_KERNEL(NllLossKernel, CrossEntropyArgs)
REPDL_REAL_KERNEL(NllLossGradKernel, CrossEntropyArgs)

}  // namespace repdl
