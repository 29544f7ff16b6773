// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

template <class T>
struct HistogramArgs {
  int64_t n, num_edges;
  const T* x;
  const T* edges;
  T* counts;        // of each bin, or nullptr
  int64_t* places;  // the bin of each element, -1 for none; or nullptr
};

REPDL_REAL_KERNEL(HistogramKernel, HistogramArgs)

}  // namespace repdl
