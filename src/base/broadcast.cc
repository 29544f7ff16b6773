// SPDX-License-Identifier: MIT
#include "base/broadcast.h"

namespace repdl {
namespace {

/// Gives a shape, in the place of its sizes of 1, those of one that is no longer.
void TakeSizes(const IntList& shorter, IntList& shape) {
  for (int i = 1; i <= shorter.size(); ++i) {
    int64_t& size = shape[shape.size() - i];
    if (size == 1) size = shorter[shorter.size() - i];
  }
}

/// Makes `shape` what it and that of an operand broadcast to. In place: a processor waits for what is copied right after
/// it was written in smaller pieces.
void Broadcast(const ArgName& name, const IntList& operand, IntList& shape) {
  for (int i = 1; i <= std::min(shape.size(), operand.size()); ++i) {
    const int64_t a = shape[shape.size() - i], b = operand[operand.size() - i];
    REPDL_CHECK(a == b || a == 1 || b == 1, name, " of shape ", Name(operand), " does not broadcast against ",
                Name(shape));
  }
  if (operand.size() <= shape.size()) return TakeSizes(operand, shape);
  const IntList shorter = shape;
  shape = operand;
  TakeSizes(shorter, shape);
}

}  // namespace

TensorSpec BroadcastSpec(std::initializer_list<NamedTensor> operands) {
  const TensorView& first = operands.begin()->tensor;
  TensorSpec spec{first.dtype, {}};
  bool only_numbers = true;
  for (const auto& [name, tensor] : operands) {
    CheckFloating(name, tensor);
    // float32 and narrower types meet as float32; float64 only meets itself.
    const bool is_wide = first.dtype == DType::kFloat64;
    if (is_wide != (tensor.dtype == DType::kFloat64)) CheckDType(name, tensor, is_wide ? first.dtype : DType::kFloat32);
    CheckSameDevice(name, tensor, first);
    Broadcast(name, tensor.shape, spec.shape);
    const bool is_number = tensor.rank() == 0;
    if (is_number && !only_numbers) continue;
    const bool stands = is_number != only_numbers || spec.dtype == tensor.dtype;
    spec.dtype = stands ? tensor.dtype : DType::kFloat32;
    only_numbers = is_number;
  }
  return spec;
}

}  // namespace repdl
