// SPDX-License-Identifier: MIT
#include "repdl/ops/elementwise.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/elementwise/elementwise_kernel.h"

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

Specs InferBinary(const ArgName& first, const TensorView& a, const ArgName& second, const TensorView& b) {
  CheckFloat(first, a, a);
  CheckFloat(second, b, a);
  return {{DType::kFloat32, BroadcastShape(second, a.shape, b.shape)}};
}

Place Check(std::string_view op, const Specs& specs, const TensorView& result, const TensorView& first) {
  CheckOutputs(op, specs, {&result}, first);
  return PlaceOf(op, first);
}

}  // namespace

#define REPDL_UNARY(op, Function)                                                   \
  Specs Infer##Function(const TensorView& input) {                                  \
    CheckFloat({#op, "input"}, input, input);                                       \
    return {{DType::kFloat32, input.shape}};                                        \
  }                                                                                 \
  void Function(const TensorView& input, Out result) {                              \
    const FpEnvGuard guard;                                                         \
    const Place place = Check(#op, Infer##Function(input), result, input);          \
    if (result.numel() > 0) Function##Kernel(place, MakeMapArgs({&input}, result)); \
  }
#include "repdl/ops/unary.def"
#undef REPDL_UNARY

#define REPDL_BINARY(op, Function, first, second)                                            \
  Specs Infer##Function(const TensorView& first, const TensorView& second) {                 \
    return InferBinary({#op, #first}, first, {#op, #second}, second);                        \
  }                                                                                          \
  void Function(const TensorView& first, const TensorView& second, Out result) {             \
    const FpEnvGuard guard;                                                                  \
    const Place place = Check(#op, Infer##Function(first, second), result, first);           \
    if (result.numel() > 0) Function##Kernel(place, MakeMapArgs({&first, &second}, result)); \
  }
#include "repdl/ops/binary.def"
#undef REPDL_BINARY

}  // namespace repdl

#define REPDL_UNARY(op, Function) MakeOp<Infer##Function, Function>(#op, "input"),
#define REPDL_BINARY(op, Function, first, second) MakeOp<Infer##Function, Function>(#op, #first ", " #second),
namespace repdl::internal {
std::vector<OpInfo> OpsOf_elementwise() {
  return {
#include "repdl/ops/binary.def"
#include "repdl/ops/unary.def"
  };
}
}  // namespace repdl::internal
