// SPDX-License-Identifier: MIT
#include "drivers/map.h"

#include <algorithm>

namespace repdl {

MapArgs MakeMapArgs(std::initializer_list<const TensorView*> inputs, const TensorView& output) {
  MapArgs args;
  args.output = output.data;
  args.output_dtype = output.dtype;
  args.numel = output.numel();
  args.num_inputs = static_cast<int>(inputs.size());
  int t = 0;
  for (const TensorView* input : inputs) {
    args.input_dtypes[t] = input->dtype;
    args.inputs[t++] = input->data;
  }

  const auto stride_of = [&](const TensorView& input, int dim) -> int64_t {
    const int own = dim - (output.rank() - input.rank());
    return own < 0 || input.shape[own] == 1 ? 0 : input.strides[own];
  };
  for (int dim = 0; dim < output.rank(); ++dim) {
    const int64_t size = output.shape[dim];
    if (size == 1) continue;
    // One loop serves this dimension and the one before it if every operand steps over them evenly.
    bool merges = args.rank > 0;
    t = 0;
    for (const TensorView* input : inputs) {
      merges = merges && args.strides[t][args.rank - 1] == stride_of(*input, dim) * size;
      ++t;
    }
    if (merges) {
      args.shape[args.rank - 1] *= size;
    } else {
      args.shape[args.rank++] = size;
    }
    t = 0;
    for (const TensorView* input : inputs) args.strides[t++][args.rank - 1] = stride_of(*input, dim);
  }
  if (args.rank == 0) {
    args.rank = 1;
    args.shape[0] = 1;
    for (t = 0; t < args.num_inputs; ++t) args.strides[t][0] = 0;
  }
  return args;
}

MapArgs Without(const MapArgs& args, int input) {
  MapArgs others = args;
  --others.num_inputs;
  for (int t = input; t < others.num_inputs; ++t) {
    others.inputs[t] = args.inputs[t + 1];
    others.input_dtypes[t] = args.input_dtypes[t + 1];
    std::copy_n(args.strides[t + 1], args.rank, others.strides[t]);
  }
  return others;
}

}  // namespace repdl
