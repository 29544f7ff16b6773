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

/// One type stands; of two, a tensor's wins over that of a single number, and else float32 holds both.
DType CommonDType(const TensorView& a, const TensorView& b) {
  if (a.dtype == b.dtype) return a.dtype;
  if (a.rank() == 0 && b.rank() > 0) return b.dtype;
  if (b.rank() == 0 && a.rank() > 0) return a.dtype;
  return DType::kFloat32;
}

Specs InferUnary(const ArgName& name, const TensorView& input) {
  CheckFloating(name, input);
  return {{input.dtype, input.shape}};
}

Specs InferBinary(const ArgName& first, const TensorView& a, const ArgName& second, const TensorView& b) {
  CheckFloating(first, a);
  CheckFloating(second, b);
  CheckSameDevice(second, b, a);
  return {{CommonDType(a, b), BroadcastShape(second, a.shape, b.shape)}};
}

Place Check(std::string_view op, const Specs& specs, const TensorView& result, const TensorView& first) {
  CheckOutputs(op, specs, {&result}, first);
  return PlaceOf(op, first);
}

}  // namespace

#define REPDL_UNARY(op, Function, Lanes)                                                       \
  Specs Infer##Function(const TensorView& input) { return InferUnary({#op, "input"}, input); } \
  void Function(const TensorView& input, Out result) {                                         \
    const FpEnvGuard guard;                                                                    \
    const Place place = Check(#op, Infer##Function(input), result, input);                     \
    if (result.numel() > 0) Function##Kernel(place, MakeMapArgs({&input}, result));            \
  }
#define REPDL_BINARY(op, Function, Lanes, first, second)                                     \
  Specs Infer##Function(const TensorView& first, const TensorView& second) {                 \
    return InferBinary({#op, #first}, first, {#op, #second}, second);                        \
  }                                                                                          \
  void Function(const TensorView& first, const TensorView& second, Out result) {             \
    const FpEnvGuard guard;                                                                  \
    const Place place = Check(#op, Infer##Function(first, second), result, first);           \
    if (result.numel() > 0) Function##Kernel(place, MakeMapArgs({&first, &second}, result)); \
  }
#include "repdl/ops/elementwise.def"
#undef REPDL_UNARY
#undef REPDL_BINARY

}  // namespace repdl

#define REPDL_UNARY(op, Function, Lanes) MakeOp<Infer##Function, Function>(#op, "input"),
#define REPDL_BINARY(op, Function, Lanes, first, second) MakeOp<Infer##Function, Function>(#op, #first ", " #second),
namespace repdl::internal {
std::vector<OpInfo> OpsOf_elementwise() {
  return {
#include "repdl/ops/elementwise.def"
  };
}
}  // namespace repdl::internal
