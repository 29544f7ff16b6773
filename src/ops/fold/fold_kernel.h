// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// Elements from, from + 1, … of a row of the source, and the elements to, to + step, … of one of the result.
struct FoldRun {
  int64_t from, to, count, step;
};

/// A row of the source, and which of its elements are added to a row of the result.
struct FoldTerm {
  int64_t row, first_run, end_run;
};

/// Planes of rows of (width, inner), row-major, side by side. Row r of each plane of the result is the sum, from +0, of the
/// terms from starts[r] to starts[r + 1], one after another.
template <class T>
struct FoldArgs {
  int64_t planes, inner;
  int64_t in_rows, in_width, out_rows, out_width;
  const int64_t* starts;
  const FoldTerm* terms;
  const FoldRun* runs;
  const T* input;
  T* output;
};

REPDL_REAL_KERNEL(FoldKernel, FoldArgs)

}  // namespace repdl
