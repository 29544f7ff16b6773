// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"
#include "repdl/tensor.h"

namespace repdl {

/// The tensors of a step, each n numbers side by side. The second, the gradient, does not change.
struct FusedTensors {
  static constexpr int kMaxCount = 5;

  DType dtype;
  int64_t n;
  int count;
  void* data[kMaxCount];
};

/// What all steps do to the gradient.
template <class T>
struct FusedGradient {
  T weight_decay;  // 0 for none
  bool maximize;
};

template <class T>
struct FusedAdamArgs {
  FusedTensors tensors;  // param, grad, exp_avg, exp_avg_sq and perhaps max_exp_avg_sq
  FusedGradient<T> gradient;
  T shrink;  // of a decoupled weight decay
  bool shrinks;
  T weight, rest;  // of the gradient and of its mean before
  T beta2, one_minus_beta2;
  T sqrt_correction2;
  T eps;
  T minus_step_size;
};

template <class T>
struct FusedAdagradArgs {
  FusedTensors tensors;  // param, grad, state_sum
  FusedGradient<T> gradient;
  T eps;
  T minus_rate;
};

template <class T>
struct FusedSgdArgs {
  FusedTensors tensors;  // param, grad and perhaps momentum_buffer
  FusedGradient<T> gradient;
  T momentum;
  T one_minus_dampening;
  T minus_lr;
  bool first_step, nesterov;
};

REPDL_REAL_KERNEL(FusedAdamKernel, FusedAdamArgs)
REPDL_REAL_KERNEL(FusedAdagradKernel, FusedAdagradArgs)
REPDL_REAL_KERNEL(FusedSgdKernel, FusedSgdArgs)

}  // namespace repdl
