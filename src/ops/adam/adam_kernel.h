// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/cpu_target.h"

namespace repdl {

/// The constants of a step, rounded to float32.
struct AdamConstants {
  float shrink;        // 1 - lr weight_decay, decoupled; 1 leaves the parameter alone
  float weight_decay;  // in the gradient; 0 for none
  float beta1, one_minus_beta1;
  float beta2, one_minus_beta2;
  float sqrt_correction2;
  float eps;
  float minus_step_size;
  bool maximize;
};

struct AdamArgs {
  int64_t n;
  float* param;
  const float* grad;
  float* exp_avg;
  float* exp_avg_sq;
  float* max_exp_avg_sq;  // or null
  AdamConstants constants;
};

REPDL_KERNEL(AdamKernel, AdamArgs)

}  // namespace repdl
