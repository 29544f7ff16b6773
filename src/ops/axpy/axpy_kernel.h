// SPDX-License-Identifier: MIT
#pragma once

#include "base/cpu_target.h"
#include "drivers/map.h"

namespace repdl {

enum class Axpy : uint8_t { kAdd, kSub, kAddcmul, kAddcdiv, kLerp };

struct AxpyArgs {
  Axpy op;
  MapArgs map;
  float scalar;
};

REPDL_KERNEL(AxpyKernel, AxpyArgs)

}  // namespace repdl
