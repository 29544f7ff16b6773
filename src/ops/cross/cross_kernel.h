// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// Along the second dimension of (outer, 3, inner), all row-major.
template <class T>
struct CrossArgs {
  int64_t outer, inner;
  const T* a;
  const T* b;
  T* output;
};

REPDL_REAL_KERNEL(CrossKernel, CrossArgs)

}  // namespace repdl
