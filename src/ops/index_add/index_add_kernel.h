// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/tensor.h"

namespace repdl {

/// What `left_out` is where no term is.
inline constexpr int64_t kNoneLeftOut = INT64_MIN;

/// For each of `outer` slices: row `to[t]` of the output += term t, for t ascending. A term is row `from[t]` of the
/// source, times its factor, over its divisor, each step rounded. Rows lie side by side. Indices have been checked, or
/// stop a kernel of a device that meets one out of range.
template <class T>
struct IndexSumArgs {
  int64_t outer, terms, width;
  const int64_t* to;
  int64_t left_out;     // what `to` is for terms that are left out
  const int64_t* from;  // null: t itself
  const T* factors;     // null: 1
  int64_t factor_stride;
  const T* divisors;  // null: 1
  const T* source;    // (outer, source_rows, width)
  int64_t source_rows;
  T* output;  // (outer, rows, width), which holds what the sums begin with
  int64_t rows;
};

/// For each slice o and column i: output[o, index[o, t, i], i] += source[o, t, i], for t ascending, unless kept[t] is 0.
template <class T>
struct ScatterAddArgs {
  int64_t outer, terms, inner;
  const int64_t* index;  // (outer, terms, inner), as source
  const T* source;
  T* output;  // (outer, rows, inner), which holds what the sums begin with
  int64_t rows;
  const int64_t* kept;  // or null
};

REPDL_REAL_KERNEL(IndexSumKernel, IndexSumArgs)
REPDL_REAL_KERNEL(ScatterAddKernel, ScatterAddArgs)

}  // namespace repdl
