// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

#include "base/kernel.h"

namespace repdl {

enum class SegmentReduction : uint8_t { kSum, kMean, kProd, kMax, kMin };

/// Planes (length, inner) with segments [offsets[k], offsets[k + 1]) of their own; results are (segments, inner).
template <class T>
struct SegmentArgs {
  int64_t planes, length, segments, inner;
  SegmentReduction reduction;
  T initial;
  bool has_initial;
  const int64_t* lengths;  // planes x segments
  int64_t* offsets;        // planes x (segments + 1); on the CPU they are there, and checked
  const T* input;
  const T* grad_output;  // of the gradient alone
  T* output;             // read by the gradient
  T* grad_input;

  /// What the first element meets.
  T First() const {
    if (has_initial) return initial;
    switch (reduction) {
      case SegmentReduction::kProd: return 1;
      case SegmentReduction::kMax: return -std::numeric_limits<T>::infinity();
      case SegmentReduction::kMin: return std::numeric_limits<T>::infinity();
      default: return 0;
    }
  }
};

REPDL_REAL_KERNEL(SegmentReduceKernel, SegmentArgs)
REPDL_REAL_KERNEL(SegmentReduceGradKernel, SegmentArgs)

}  // namespace repdl
