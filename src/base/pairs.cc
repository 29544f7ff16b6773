// SPDX-License-Identifier: MIT
#include "base/pairs.h"

namespace repdl {

void CheckPairs(const ArgName& name, const TensorView& tensor, const TensorView& like) {
  CheckFloat(name, tensor, like);
  REPDL_CHECK(tensor.rank() > 0 && tensor.shape[tensor.rank() - 1] == 2, name, " of shape ", Name(tensor.shape),
              " must have a last dimension of size 2, for real and imaginary parts; use torch.view_as_real()");
}

TensorView PartsOf(const TensorView& pairs, int which) {
  const int last = pairs.rank() - 1;
  TensorView parts = pairs;
  if (which == 1 && pairs.numel() > 0) {
    parts.data = static_cast<char*>(pairs.data) + pairs.strides[last] * ItemSize(pairs.dtype);
  }
  parts.shape = IntList(std::span(pairs.shape.begin(), pairs.shape.begin() + last));
  parts.strides = IntList(std::span(pairs.strides.begin(), pairs.strides.begin() + last));
  return parts;
}

}  // namespace repdl
