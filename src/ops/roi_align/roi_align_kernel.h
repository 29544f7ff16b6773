// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// Points of a bin, at most.
inline constexpr int64_t kMaxRoiPoints = int64_t{1} << 16;

template <class T>
struct RoiSettings {
  T scale;
  bool aligned;
  int64_t sampling_ratio;
};

/// All tensors are row-major.
template <class T>
struct RoiAlignArgs {
  int64_t count;
  const T* boxes;         // (count, 4)
  const int64_t* images;  // (count)
  RoiSettings<T> settings;
  int64_t batch, channels, height, width;
  int64_t rows, columns;  // of bins
  const T* input;         // (batch, channels, height, width)
  T* output;              // (count, channels, rows, columns)
  const T* grad_output;   // as output
  T* grad_input;          // as input; is added to
};

REPDL_REAL_KERNEL(RoiAlignKernel, RoiAlignArgs)
REPDL_REAL_KERNEL(RoiAlignGradKernel, RoiAlignArgs)

}  // namespace repdl
