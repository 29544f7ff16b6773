// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// The constants of a step, rounded to the type of the parameter.
template <class T>
struct AdamConstants {
  T shrink;        // 1 - lr weight_decay, decoupled; 1 leaves the parameter alone
  T weight_decay;  // in the gradient; 0 for none
  T beta1, one_minus_beta1;
  T beta2, one_minus_beta2;
  T sqrt_correction2;
  T eps;
  T minus_step_size;
  bool maximize;
};

template <class T>
struct AdamArgs {
  int64_t n;
  T* param;
  const T* grad;
  T* exp_avg;
  T* exp_avg_sq;
  T* max_exp_avg_sq;  // or null
  AdamConstants<T> constants;
};

REPDL_REAL_KERNEL(AdamKernel, AdamArgs)

}  // namespace repdl
