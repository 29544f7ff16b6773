// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"
#include "repdl/tensor.h"

namespace repdl {

/// Images are planes of h x w, row-major, side by side.
template <class T>
struct MaxPool2dArgs {
  int64_t planes, h, w, out_h, out_w;
  IntPair kernel, stride, padding, dilation;
  const T* input;
  T* output;
  int64_t* indices;
  const T* grad_output;
  T* grad_input;
  int32_t* bad_index;  // becomes 1 if an index is not a place of the image
};

REPDL_REAL_KERNEL(MaxPool2dKernel, MaxPool2dArgs)
REPDL_REAL_KERNEL(MaxPool2dGradKernel, MaxPool2dArgs)

}  // namespace repdl
