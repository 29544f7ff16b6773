// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/order.h"
#include "repdl/tensor.h"

namespace repdl {

enum class GridMode { kLinear, kNearest, kCubic };
enum class GridPadding { kZeros, kBorder, kReflection };

/// Samples, or gradients of them. All tensors are row-major.
template <class T>
struct GridSampleArgs {
  int64_t batch, channels, places;
  int rank;          // 2 or 3: of the image
  int64_t sizes[3];  // along x, y, z
  GridMode mode;
  GridPadding padding;
  bool align_corners;
  Order order;
  const T* input;        // (batch, channels, elements)
  const T* grid;         // (batch, places, rank), x first
  const T* grad_output;  // (batch, channels, places)
  T* output;             // as grad_output
  T* grad_input;         // as input, +0
  T* grad_grid;          // as grid

  int64_t Elements() const { return sizes[0] * sizes[1] * sizes[2]; }
};

REPDL_REAL_KERNEL(GridSampleKernel, GridSampleArgs)
REPDL_REAL_KERNEL(GridSampleGradInputKernel, GridSampleArgs)
REPDL_REAL_KERNEL(GridSampleGradGridKernel, GridSampleArgs)

}  // namespace repdl
