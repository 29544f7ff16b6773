// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"
#include "numerics/order.h"

namespace repdl {

template <class T>
struct HistogramArgs {
  int64_t n, num_edges;
  const T* x;
  const T* edges;
  T* counts;        // of each bin, zeros as they come, or nullptr
  int64_t* places;  // the bin of each element, -1 for none; or nullptr
};

/// The bin of an element that lies between the first of m edges and the last one.
template <class T>
REPDL_WALK int64_t BinOf(const T* edges, int64_t m, T x) {
  int64_t first = 0, last = m;
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    if (!(edges[middle] > x)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  const int64_t bin = first == 0 ? 0 : first - 1;
  return bin < m - 2 ? bin : m - 2;
}

REPDL_REAL_KERNEL(HistogramKernel, HistogramArgs)

}  // namespace repdl
