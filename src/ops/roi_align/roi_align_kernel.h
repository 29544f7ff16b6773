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

/// The elements along an axis that the bins of a box have, with weights: of each bin in ascending order of the elements,
/// and of each of these in ascending order of the bins.
template <class T>
struct RoiAxis {
  const int64_t* starts;  // of each bin, and the end
  const int32_t* elements;
  const T* weights;

  int64_t used;  // elements that a bin has
  const int32_t* used_elements;
  const int64_t* used_starts;
  const int32_t* bins;
  const T* bin_weights;
};

template <class T>
struct Roi {
  int64_t image;
  RoiAxis<T> y, x;
};

/// All tensors are row-major.
template <class T>
struct RoiAlignArgs {
  int64_t count;
  const Roi<T>* rois;     // on the CPU
  const T* boxes;         // elsewhere: (count, 4)
  const int64_t* images;  // likewise
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
