// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"
#include "repdl/tensor.h"

namespace repdl {

/// What an index is drawn by, for each weight of rows side by side. On a device the kernel draws the indices too, and stops
/// where a row lacks weights.
struct PhiloxMultinomialArgs {
  int64_t rows, n;
  const void* weights;
  DType dtype;
  float* scores;     // without replacement: exponential numbers, in whose place the scores come
  double* integers;  // the integers with replacement, as doubles; else of no meaning
  double scale;      // 2^b, or 0 without replacement
  int64_t* present;  // of each row: how many weights are above 0, or -1 where one is negative or not finite

  // Of a device.
  int64_t needed;  // weights above 0, of each row
  int64_t num_samples;
  const int64_t* random;  // integers below 2^62; null without replacement
  int64_t* samples;
};

REPDL_KERNEL(PhiloxMultinomialKernel, PhiloxMultinomialArgs)

}  // namespace repdl
