// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"
#include "ops/convolution/convolution_plan.h"
#include "repdl/tensor.h"

namespace repdl {

/// A plan carried out in integers, which are added and multiplied as unsigned ones of the same size. Each of n · groups
/// images has `rows` results.
struct IntegerConvArgs {
  DType dtype;
  int64_t n, groups, rows;
  ConvPlan plan;
  const void* source;  // (n, groups, channels, plane)
  const void* weight;  // (groups, rows, channels, taps)
  const void* bias;    // null, or (groups, rows)
  void* result;        // (n, groups, rows, plane)
};

REPDL_KERNEL(IntegerConvKernel, IntegerConvArgs)

}  // namespace repdl
