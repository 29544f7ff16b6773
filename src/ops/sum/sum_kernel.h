// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"
#include "drivers/reduce.h"

namespace repdl {

/// output = sqrt(Sum(x * x)) of n numbers side by side
template <class T>
struct NormArgs {
  int64_t n;
  Order order;
  const T* x;
  T* output;
};

REPDL_KERNEL(SumKernel, ReduceArgs)
REPDL_REAL_KERNEL(NormKernel, NormArgs)
/// (x - c) * (x - c)
REPDL_KERNEL(SquaredDistanceKernel, MapArgs)

}  // namespace repdl
