// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

REPDL_KERNEL(StandardGammaGradKernel, MapArgs)
REPDL_KERNEL(DirichletGradKernel, MapArgs)

}  // namespace repdl
