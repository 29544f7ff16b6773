// SPDX-License-Identifier: MIT
#include "drivers/reduce.h"

namespace repdl {

void Loops::Append(int64_t size, int64_t stride) {
  if (size == 1) return;
  const int last = shape.size() - 1;
  if (last >= 0 && strides[last] == stride * size) {
    shape[last] *= size;
    strides[last] = stride;
  } else {
    shape.Append(size);
    strides.Append(stride);
  }
}

void SplitLoops(const TensorView& x, const bool (&is_reduced)[kMaxRank], Loops& kept, Loops& reduced) {
  const bool empty = x.numel() == 0;
  for (int dim = 0; dim < x.rank(); ++dim) {
    // A tensor without elements may lie nowhere: nothing steps through it.
    (is_reduced[dim] ? reduced : kept).Append(x.shape[dim], empty ? 0 : x.strides[dim]);
  }
}

ReduceArgs MakeReduceArgs(const TensorView& x, const bool (&is_reduced)[kMaxRank], Order order) {
  ReduceArgs args{x.dtype, x.data, {}, {}, order, {}, nullptr};
  SplitLoops(x, is_reduced, args.kept, args.reduced);
  return args;
}

}  // namespace repdl
