// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/matrices.h"

namespace repdl {

struct EigArgs {
  int64_t batch, n;
  Matrices input;  // of ComplexEigKernel pairs
  void* values;    // pairs
  void* vectors;   // pairs; null where they are not wanted
  int64_t* info;
};

REPDL_KERNEL(EigKernel, EigArgs)
REPDL_KERNEL(ComplexEigKernel, EigArgs)

}  // namespace repdl
