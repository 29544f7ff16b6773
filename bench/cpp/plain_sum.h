// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// Sums of a row-major matrix: as fast as vectors go, in an order that follows the target. out[i] is the sum of row i,
/// or out[j] that of column j.
struct PlainSumArgs {
  const float* x;
  int64_t rows, cols;
  float* out;
};
REPDL_KERNEL(PlainSumRows, PlainSumArgs)
REPDL_KERNEL(PlainSumColumns, PlainSumArgs)

}  // namespace repdl
