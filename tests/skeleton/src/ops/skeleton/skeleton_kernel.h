// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

struct SkeletonArgs {
  MapArgs map;
  float factor;
};

REPDL_KERNEL(SkeletonKernel, SkeletonArgs)

}  // namespace repdl
