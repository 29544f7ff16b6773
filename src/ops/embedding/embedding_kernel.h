// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/tensor.h"

namespace repdl {

/// Divides each row, in place, by its number, but not by 0.
template <class T>
struct DivideRowsArgs {
  int64_t rows, width;
  const int64_t* numbers;
  T* data;
};

REPDL_REAL_KERNEL(DivideRowsKernel, DivideRowsArgs)

}  // namespace repdl
