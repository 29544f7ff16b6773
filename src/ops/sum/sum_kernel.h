// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "drivers/map.h"
#include "drivers/reduce.h"

namespace repdl {

REPDL_KERNEL(SumKernel, ReduceArgs)
/// (x - c) * (x - c)
REPDL_KERNEL(SquaredDistanceKernel, MapArgs)

}  // namespace repdl
