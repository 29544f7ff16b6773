// SPDX-License-Identifier: MIT
#pragma once

#include "base/cuda_kernel.h"
#include "drivers/map.h"

namespace repdl {

struct SkeletonArgs {
  MapArgs map;
  float factor;
};

REPDL_DEVICE_KERNEL(skeleton, SkeletonKernel, SkeletonArgs)

}  // namespace repdl
