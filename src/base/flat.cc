// SPDX-License-Identifier: MIT
#include "base/flat.h"

#include <array>

namespace repdl {
namespace {

bool IsDense(const TensorView& tensor) {
  std::array<int, kMaxRank> dims;  // by stride
  int count = 0;
  for (int dim = 0; dim < tensor.rank(); ++dim) {
    if (tensor.shape[dim] == 1) continue;
    int at = count++;
    for (; at > 0 && tensor.strides[dims[at - 1]] > tensor.strides[dim]; --at) dims[at] = dims[at - 1];
    dims[at] = dim;
  }
  int64_t expected = 1;
  for (int i = 0; i < count; ++i) {
    if (tensor.strides[dims[i]] != expected) return false;
    expected *= tensor.shape[dims[i]];
  }
  return true;
}

}  // namespace

bool AreFlatAlike(std::initializer_list<const TensorView*> tensors) {
  const TensorView& first = **tensors.begin();
  if (first.numel() == 0) return true;
  for (const TensorView* tensor : tensors) {
    if (!(tensor->shape == first.shape)) return false;
    for (int dim = 0; dim < first.rank(); ++dim) {
      if (first.shape[dim] != 1 && tensor->strides[dim] != first.strides[dim]) return false;
    }
  }
  return IsDense(first);
}

}  // namespace repdl
