// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/draw.h"

namespace repdl {

REPDL_KERNEL(PhiloxPoissonKernel, DrawArgs)
REPDL_KERNEL(PhiloxBinomialKernel, DrawArgs)

}  // namespace repdl
