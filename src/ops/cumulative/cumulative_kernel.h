// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

enum class Cumulative : uint8_t { kSum, kProduct, kLogSumExp, kComplexProduct, kComplexLogSumExp };

/// Along the second dimension of (outer, n, inner), or of (outer, n, inner, 2) for complex numbers.
template <class T>
struct CumulativeArgs {
  Cumulative op;
  int64_t outer, n, inner;
  const T* x;
  T* output;
};

REPDL_REAL_KERNEL(CumulativeKernel, CumulativeArgs)

}  // namespace repdl
