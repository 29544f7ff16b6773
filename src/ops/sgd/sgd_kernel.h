// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/cpu_target.h"

namespace repdl {

/// The constants of a step, rounded to float32.
struct SgdConstants {
  float weight_decay, momentum, one_minus_dampening, minus_lr;
  bool first_step, nesterov, maximize;
};

struct SgdArgs {
  int64_t n;
  float* param;
  const float* grad;
  float* buffer;  // or null
  SgdConstants constants;
};

REPDL_KERNEL(SgdKernel, SgdArgs)

}  // namespace repdl
