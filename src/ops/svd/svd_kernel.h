// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

struct SvdArgs {
  int64_t batch, m, n;
  Matrices input;
  bool full;
  void* u;  // null where vectors are not wanted, or empty, as `vh`
  void* s;
  void* vh;
  int64_t* info;
  bool pairs;
};

REPDL_KERNEL(SvdKernel, SvdArgs)

}  // namespace repdl
