// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/index_terms.h"

namespace repdl {

/// Row `to[t]` of the output += term t, which is its row of the source, times its factor, over its divisor, each step
/// rounded.
template <class T>
struct IndexSumArgs {
  RowTerms<T> terms;
  const T* factors;  // null: 1
  int64_t factor_stride;
  const T* divisors;  // null: 1
};

REPDL_REAL_KERNEL(IndexSumKernel, IndexSumArgs)
/// A number of the output += the term.
REPDL_REAL_KERNEL(ScatterAddKernel, NumberTerms)

}  // namespace repdl
