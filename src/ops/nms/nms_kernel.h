// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

template <class T>
struct NmsArgs {
  int64_t n;
  const T* boxes;  // (n, 4)
  int64_t* order;  // of the boxes; is changed
  T threshold;     // a quotient is above it exactly if it is above the one of the call
  int64_t* indices;
  int64_t* count;
};

REPDL_REAL_KERNEL(NmsKernel, NmsArgs)

}  // namespace repdl
