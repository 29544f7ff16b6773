// SPDX-License-Identifier: MIT
// What the CPU's kernels list of each box, before they go through its channels.
#pragma once

#include "ops/roi_align/roi_align_kernel.h"

namespace repdl {

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

/// Calls run(args, rois) for some boxes at a time, in their order, with `args` of these. T is float or double.
template <class T>
void ForListedBoxes(const RoiAlignArgs<T>& args, void (*run)(const RoiAlignArgs<T>& args, const Roi<T>* rois));

}  // namespace repdl
