// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/order.h"
#include "repdl/tensor.h"

namespace repdl {

/// output[i] = the product, over k terms, of row rows[i] of a and row columns[i] of b. The rows lie side by side. On the
/// CPU the indices have been checked.
template <class T>
struct SampledMmArgs {
  int64_t count, k;
  const T* a;
  const T* b;
  int64_t a_rows, b_rows;
  const int64_t* rows;
  const int64_t* columns;
  Order order;
  T* output;
};

REPDL_REAL_KERNEL(SampledMmKernel, SampledMmArgs)

}  // namespace repdl
