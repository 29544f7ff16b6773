// SPDX-License-Identifier: MIT
#include "base/broadcast.h"

namespace repdl {
namespace {

/// The shape that both operands broadcast to.
IntList BroadcastShape(const ArgName& name, const IntList& a, const IntList& b) {
  const int rank = std::max(a.size(), b.size());
  IntList shape;
  for (int i = 0; i < rank; ++i) {
    const int from_a = i - (rank - a.size()), from_b = i - (rank - b.size());
    const int64_t size_a = from_a < 0 ? 1 : a[from_a], size_b = from_b < 0 ? 1 : b[from_b];
    REPDL_CHECK(size_a == size_b || size_a == 1 || size_b == 1, name, " of shape ", Name(b),
                " does not broadcast against ", Name(a));
    shape.Append(size_a == 1 ? size_b : size_a);
  }
  return shape;
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
    spec.shape = BroadcastShape(name, spec.shape, tensor.shape);
    const bool is_number = tensor.rank() == 0;
    if (is_number && !only_numbers) continue;
    const bool stands = is_number != only_numbers || spec.dtype == tensor.dtype;
    spec.dtype = stands ? tensor.dtype : DType::kFloat32;
    only_numbers = is_number;
  }
  return spec;
}

}  // namespace repdl
