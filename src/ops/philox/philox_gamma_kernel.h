// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/draw.h"

namespace repdl {

REPDL_KERNEL(PhiloxGammaKernel, DrawArgs)

}  // namespace repdl
