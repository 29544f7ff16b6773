// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// All tensors are row-major.
template <class T>
struct RoiPoolArgs {
  int64_t count;
  const int64_t* images;  // of each box
  const T* boxes;         // (count, 4)
  T scale;
  int32_t *y_begins, *y_ends;  // (count, rows): the elements of each bin, which the CPU has from FindBinsOfBox
  int32_t *x_begins, *x_ends;  // (count, columns)
  int64_t batch, channels, height, width;
  int64_t rows, columns;  // of bins
  const T* input;         // (batch, channels, height, width)
  T* output;              // (count, channels, rows, columns)
  int64_t* places;        // as output
};

template <class T>
struct RoiPoolGradArgs {
  int64_t count;
  const int64_t* images;
  int64_t batch, channels, size, bins;
  const T* grad_output;   // (count, channels, bins)
  const int64_t* places;  // as grad_output
  T* grad_input;          // (batch, channels, size), +0
};

REPDL_REAL_KERNEL(RoiPoolKernel, RoiPoolArgs)
REPDL_REAL_KERNEL(RoiPoolGradKernel, RoiPoolGradArgs)

}  // namespace repdl
