// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

struct UniformArgs {
  MapArgs map;
  float range, low;
};

REPDL_KERNEL(UniformKernel, UniformArgs)

}  // namespace repdl
