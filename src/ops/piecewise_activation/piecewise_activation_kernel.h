// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

enum class PiecewiseActivation : uint8_t {
  kSoftshrink,
  kShrinkGrad,
  kHardtanhGrad,
  kHardsigmoid,
  kHardsigmoidGrad,
  kHardswish,
  kHardswishGrad,
  kScaledElu,
  kScaledEluGrad,
  kScaledEluGradOfResult,
  kLogitGrad,
  kLogitGradWithin,
  kScaledSoftplus,
  kScaledSoftplusGrad,
};

/// The numbers are what each activation takes, in the order of its contract; rounded to the type that is computed in.
struct PiecewiseActivationArgs {
  PiecewiseActivation op;
  MapArgs map;
  double numbers[4];
};

REPDL_KERNEL(PiecewiseActivationKernel, PiecewiseActivationArgs)

}  // namespace repdl
