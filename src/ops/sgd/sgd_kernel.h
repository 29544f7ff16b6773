// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// The constants of a step, rounded to the type of the parameter.
template <class T>
struct SgdConstants {
  T weight_decay, momentum, one_minus_dampening, minus_lr;
  bool first_step, nesterov, maximize;
};

template <class T>
struct SgdArgs {
  int64_t n;
  T* param;
  const T* grad;
  T* buffer;  // or null
  SgdConstants<T> constants;
};

REPDL_REAL_KERNEL(SgdKernel, SgdArgs)

}  // namespace repdl
