// SPDX-License-Identifier: MIT
#include "drivers/convert.h"

#include <algorithm>

#include "drivers/contiguous.h"

namespace repdl {

TensorView Widened(const TensorView& tensor, OpScratch& scratch) {
  IntList outer_first;
  for (int dim = 0; dim < tensor.rank(); ++dim) outer_first.Append(dim);
  std::stable_sort(outer_first.begin(), outer_first.end(), [&](int64_t a, int64_t b) {
    return tensor.strides[static_cast<int>(a)] > tensor.strides[static_cast<int>(b)];
  });
  const TensorView from = Permuted(tensor, outer_first);
  const TensorView to = scratch.New(DType::kFloat32, from.shape);
  Convert(scratch.place(), from, to);
  TensorView wide = tensor;
  wide.data = to.data;
  wide.dtype = to.dtype;
  for (int i = 0; i < tensor.rank(); ++i) wide.strides[static_cast<int>(outer_first[i])] = to.strides[i];
  return wide;
}

}  // namespace repdl
