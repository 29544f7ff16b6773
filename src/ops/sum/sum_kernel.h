// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "drivers/reduce.h"

namespace repdl {

REPDL_KERNEL(SumKernel, ReduceArgs)

}  // namespace repdl
