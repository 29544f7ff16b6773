// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/tensor.h"

namespace repdl {

/// Of loss and gradient. All lie side by side but for log_probs, of which only the classes do. On the CPU lengths and
/// labels have been checked.
template <class T>
struct CtcLossArgs {
  int64_t steps, batch, classes, labels;
  const T* log_probs;
  int64_t step_stride, batch_stride;
  const int64_t *targets, *input_lengths, *target_lengths;
  int64_t blank;

  // Forward.
  T* loss;
  T* log_alpha;

  // Gradient.
  const T *grad_output, *found_loss, *found_log_alpha;
  bool zero_infinity, by_scores;
  T* grad;
};

REPDL_REAL_KERNEL(CtcLossKernel, CtcLossArgs)
REPDL_REAL_KERNEL(CtcLossGradKernel, CtcLossArgs)

}  // namespace repdl
