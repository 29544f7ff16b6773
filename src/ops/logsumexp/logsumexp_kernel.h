// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/reduce.h"

namespace repdl {

template <class T>
struct LogSumExpArgs {
  int64_t num_rows, n;
  const T* input;
  Loops kept, reduced;  // where rows begin, and the numbers of one
  Order order;
  T* output;  // a number for each row, side by side
};

REPDL_REAL_KERNEL(LogSumExpKernel, LogSumExpArgs)

}  // namespace repdl
