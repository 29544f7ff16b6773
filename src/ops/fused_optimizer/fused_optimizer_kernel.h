// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

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

/// Whether something is done. It is as large as a number, so that nothing lies between those of a step, whose bytes are
/// compared with those of another.
template <class T>
using FusedFlag = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

/// What all steps do to the gradient.
template <class T>
struct FusedGradient {
  T weight_decay;  // 0 for none
  FusedFlag<T> maximize;
};

template <class T>
struct FusedAdamNumbers {
  FusedGradient<T> gradient;
  T shrink;  // of a decoupled weight decay
  FusedFlag<T> shrinks;
  T weight, rest;  // of the gradient and of its mean before
  T beta2, one_minus_beta2;
  T sqrt_correction2;
  T eps;
  T minus_step_size;
};

template <class T>
struct FusedAdagradNumbers {
  FusedGradient<T> gradient;
  T eps;
  T minus_rate;
};

template <class T>
struct FusedSgdNumbers {
  FusedGradient<T> gradient;
  T momentum;
  T one_minus_dampening;
  T minus_lr;
  FusedFlag<T> first_step, nesterov;
};

template <class Numbers>
struct FusedArgs {
  FusedTensors tensors;
  Numbers numbers;
};

/// param, grad, exp_avg, exp_avg_sq and perhaps max_exp_avg_sq.
template <class T>
using FusedAdamArgs = FusedArgs<FusedAdamNumbers<T>>;
/// param, grad, state_sum.
template <class T>
using FusedAdagradArgs = FusedArgs<FusedAdagradNumbers<T>>;
/// param, grad and perhaps momentum_buffer.
template <class T>
using FusedSgdArgs = FusedArgs<FusedSgdNumbers<T>>;

REPDL_REAL_KERNEL(FusedAdamKernel, FusedAdamArgs)
REPDL_REAL_KERNEL(FusedAdagradKernel, FusedAdagradArgs)
REPDL_REAL_KERNEL(FusedSgdKernel, FusedSgdArgs)

}  // namespace repdl
