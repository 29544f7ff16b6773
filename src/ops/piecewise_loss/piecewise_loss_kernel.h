// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

enum class PiecewiseLoss : uint8_t { kSmoothL1, kSmoothL1Grad, kHuber, kHuberGrad };

struct PiecewiseLossArgs {
  PiecewiseLoss op;
  MapArgs map;
  double bound, part;  // rounded to the type that is computed in
};

REPDL_KERNEL(PiecewiseLossKernel, PiecewiseLossArgs)

}  // namespace repdl
