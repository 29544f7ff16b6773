// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "drivers/map.h"
#include "drivers/reduce.h"

namespace repdl {

REPDL_KERNEL(SumKernel, ReduceArgs)
/// x * x of one operand, (x - c) * (x - c) of two.
REPDL_KERNEL(SquareKernel, MapArgs)

}  // namespace repdl
