// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

/// Of (input, scale, zero_point).
struct FakeQuantizeArgs {
  MapArgs map;
  int64_t low, high;  // rounded to the type that is computed in
  bool zero_first;
  bool* mask;
};

/// Of (grad_output, input, scale, zero_point), and with one type for all operands and outputs.
struct FakeQuantizeGradArgs {
  MapArgs map;
  int64_t low, high;
  double factor;
  void* grad_scale;
  void* grad_zero_point;
};

/// Of (input, scale, zero_point).
struct QuantizeArgs {
  MapArgs map;
  int64_t low, high;
};

REPDL_KERNEL(FakeQuantizeKernel, FakeQuantizeArgs)
REPDL_KERNEL(FakeQuantizeGradKernel, FakeQuantizeGradArgs)
REPDL_KERNEL(QuantizeKernel, QuantizeArgs)

}  // namespace repdl
