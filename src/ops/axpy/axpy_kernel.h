// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/map.h"

namespace repdl {

enum class Axpy : uint8_t { kAdd, kSub, kAddcmul, kAddcdiv, kLerp, kLerpTensor };

struct AxpyArgs {
  Axpy op;
  MapArgs map;
  double scalar;  // rounded to the type that is computed in
};

REPDL_KERNEL(AxpyKernel, AxpyArgs)

}  // namespace repdl
