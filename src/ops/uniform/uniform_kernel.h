// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

template <class T>
struct UniformArgs {
  MapArgs map;
  T range, low;
};

REPDL_REAL_KERNEL(UniformKernel, UniformArgs)

struct BoxMullerArgs {
  int64_t blocks;
  const float* input;
  float* output;
  float mean, std;
};

REPDL_KERNEL(BoxMullerKernel, BoxMullerArgs)

}  // namespace repdl
