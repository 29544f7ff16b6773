// SPDX-License-Identifier: MIT
// How a thread of a CUDA kernel steps through nested loops, in plain C++, so that tests can run it on the host.
#pragma once

#include <algorithm>

#include "drivers/map_cuda_thread.h"
#include "drivers/reduce.h"

namespace repdl::scalar {

/// Loops, as a kernel takes them.
struct DeviceLoops {
  int rank = 0;
  int64_t shape[kMaxRank];
  int64_t strides[kMaxRank];

  DeviceLoops() = default;
  explicit DeviceLoops(const Loops& loops) : rank(loops.shape.size()) {
    std::copy(loops.shape.begin(), loops.shape.end(), shape);
    std::copy(loops.strides.begin(), loops.strides.end(), strides);
  }

  REPDL_LANE int64_t Offset(int64_t i) const {
    int64_t offset = 0;
    for (int dim = rank - 1; dim >= 0; --dim) {
      // What is left for the outermost dimension is its index.
      offset += (dim == 0 ? i : TakeRemainder(i, shape[dim])) * strides[dim];
    }
    return offset;
  }
};

}  // namespace repdl::scalar
