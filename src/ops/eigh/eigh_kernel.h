// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

struct EighArgs {
  int64_t batch, n;
  bool upper;      // what stands in the upper triangle is in the lower one of `input`
  Matrices input;  // the lower triangle is read
  void* values;
  void* vectors;  // null where they are not wanted
  int64_t* info;
  bool pairs;
};

REPDL_KERNEL(EighKernel, EighArgs)

}  // namespace repdl
