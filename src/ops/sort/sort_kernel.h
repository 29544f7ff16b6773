// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"
#include "repdl/tensor.h"

namespace repdl {

enum class Choice : uint8_t { kFirst, kKth, kMedian, kNanMedian, kMode };

/// Of each row of n elements, side by side: the first k in order; or one of them, with k the number of results, 1.
struct SortArgs {
  Choice choice;
  bool descending;
  DType dtype;
  int64_t rows, n, k;
  int64_t rank;  // of the one chosen by kKth, from 0
  const void* x;
  void* values;
  int64_t* indices;
};

REPDL_KERNEL(SortKernel, SortArgs)

}  // namespace repdl
