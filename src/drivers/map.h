// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include "repdl/tensor.h"

namespace repdl {

/// An elementwise op over broadcast operands: as few loops as their strides allow, the innermost last.
/// The output is contiguous. Operands and output may be float32, bfloat16 or float16, each for itself; or all float64.
struct MapArgs {
  static constexpr int kMaxInputs = 4;

  int rank = 0;
  int64_t shape[kMaxRank];
  int num_inputs = 0;
  const void* inputs[kMaxInputs];
  DType input_dtypes[kMaxInputs];
  int64_t strides[kMaxInputs][kMaxRank] = {};
  void* output = nullptr;
  DType output_dtype = DType::kFloat32;
  int64_t numel = 1;
};

MapArgs MakeMapArgs(std::initializer_list<const TensorView*> inputs, const TensorView& output);

/// Whether an operand is one number for all elements.
inline bool IsOneNumber(const MapArgs& args, int input) {
  for (int dim = 0; dim < args.rank; ++dim) {
    if (args.strides[input][dim] != 0) return false;
  }
  return true;
}

/// The same without an operand.
MapArgs Without(const MapArgs& args, int input);

}  // namespace repdl
