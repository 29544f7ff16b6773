// SPDX-License-Identifier: MIT
#include "drivers/reduced_dims.h"

#include <algorithm>

namespace repdl {

ReducedDims::ReducedDims(const ArgName& name, const TensorView& input, const std::optional<IntList>& dim) {
  const bool all = !dim || dim->size() == 0;
  std::fill(std::begin(reduced), std::end(reduced), all);
  if (!all) {
    for (int64_t d : *dim) {
      const int at = CheckDim(name, d, std::max(input.rank(), 1));
      REPDL_CHECK(!reduced[at], name, " ", Name(*dim), " names dimension ", at, " twice");
      reduced[at] = true;
    }
  }
  for (int i = 0; i < input.rank(); ++i) count *= reduced[i] ? input.shape[i] : 1;
}

IntList ReducedDims::OutputShape(const TensorView& input, bool keepdim) const {
  IntList shape;
  for (int i = 0; i < input.rank(); ++i) {
    if (!reduced[i]) {
      shape.Append(input.shape[i]);
    } else if (keepdim) {
      shape.Append(1);
    }
  }
  return shape;
}

}  // namespace repdl
