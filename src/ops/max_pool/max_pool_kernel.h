// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// The windows along an axis: number k has the places first[k], first[k] + step, …, count[k] of them, all inside.
struct PoolWindows {
  int64_t size;  // of the axis
  int64_t windows;
  const int64_t* first;
  const int64_t* count;
  int64_t step;

  int64_t Longest() const {
    int64_t longest = 0;
    for (int64_t k = 0; k < windows; ++k) longest = count[k] > longest ? count[k] : longest;
    return longest;
  }
};

/// Planes (depth, height, width, inner), row-major, side by side.
template <class T>
struct MaxPoolArgs {
  int64_t planes, inner;
  std::array<PoolWindows, 3> axes;
  // Of windows along the width that differ in their place alone; else `stride` is 0.
  int64_t kernel, stride, padding;
  const T* input;
  T* output;
  int64_t* indices;
};

/// Elements of planes (windows, inner) that go to their places in planes (places, inner).
template <class T>
struct UnpoolArgs {
  int64_t planes, windows, places, inner;
  const T* input;
  const int64_t* indices;
  T* output;
  int32_t* bad_index;  // becomes 1 if an index is no place; on a device that stops the kernel
};

REPDL_REAL_KERNEL(MaxPoolKernel, MaxPoolArgs)
REPDL_REAL_KERNEL(MaxPoolGradKernel, UnpoolArgs)
REPDL_REAL_KERNEL(MaxUnpoolKernel, UnpoolArgs)

}  // namespace repdl
