// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// Products along the second dimension of (outer, n, inner).
template <class T>
struct ProdArgs {
  int64_t outer, n, inner;
  const T* x;
  double* chunks;  // room for the products of the chunks of each line, one line after the other
  T* output;
};

REPDL_REAL_KERNEL(ProdKernel, ProdArgs)
/// Of (outer, n, inner, 2): complex numbers, which are pairs in `chunks` and `output` too.
REPDL_REAL_KERNEL(ComplexProdKernel, ProdArgs)

}  // namespace repdl
