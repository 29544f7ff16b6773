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
  T* losses;  // one a sample

  // Gradient.
  const T* grad_output;        // one number, or one a sample
  int64_t grad_output_stride;  // 0 or 1
  const T* factor;             // null for 1; for nll_loss_grad a divisor
  T* grad_input;
  Loops grad_samples;
  int64_t grad_stride;
};

/// total = Sum(losses), or 1 without any; for a mean divided by the Sum of the weights of the samples, or times 1 / their
/// number. Ignored ones have the weight +0, and do not count.
template <class T>
struct LossTotalArgs {
  int64_t num_samples, num_classes;
  Order order;
  const T* losses;         // null, or one a sample
  const int64_t* classes;  // null, or one a sample
  int64_t ignore_index;
  const T* weight;  // null, or one number a class
  bool is_mean, is_weighted;
  T* total;
  T* weight_sum;  // null, or filled with the Sum of the weights
};

REPDL_REAL_KERNEL(LossTotalKernel, LossTotalArgs)
REPDL_REAL_KERNEL(CrossEntropyKernel, CrossEntropyArgs)
REPDL_REAL_KERNEL(CrossEntropyGradKernel, CrossEntropyArgs)
REPDL_REAL_KERNEL(NllLossKernel, CrossEntropyArgs)
REPDL_REAL_KERNEL(NllLossGradKernel, CrossEntropyArgs)

}  // namespace repdl
