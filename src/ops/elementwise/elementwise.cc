// SPDX-License-Identifier: MIT
#include "repdl/ops/elementwise.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/elementwise/elementwise_kernel.h"

namespace repdl {
namespace {

Specs InferUnary(const ArgName& name, const TensorView& input) {
  CheckFloating(name, input);
  return {{input.dtype, input.shape}};
}

Specs InferBinary(const ArgName& first, const TensorView& a, const ArgName& second, const TensorView& b) {
  return {BroadcastSpec({{first, a}, {second, b}})};
}

Place Check(std::string_view op, const Specs& specs, const TensorView& result, const TensorView& first) {
  CheckOutputs(op, specs, {&result}, first);
  return PlaceOf(op, first);
}

}  // namespace

#define REPDL_UNARY(op, Function, Lanes, dtypes)                                               \
  Specs Infer##Function(const TensorView& input) { return InferUnary({#op, "input"}, input); } \
  void Function(const TensorView& input, Out result) {                                         \
    const FpEnvGuard guard;                                                                    \
    const Place place = Check(#op, Infer##Function(input), result, input);                     \
    if (result.numel() > 0) Function##Kernel(place, MakeMapArgs({&input}, result));            \
  }
#define REPDL_BINARY(op, Function, Lanes, dtypes, first, second)                             \
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

#define REPDL_UNARY(op, Function, Lanes, dtypes) \
  MakeOp<Infer##Function, Function, Function##Kernel>(#op, "input", dtypes),
#define REPDL_BINARY(op, Function, Lanes, dtypes, first, second) \
  MakeOp<Infer##Function, Function, Function##Kernel>(#op, #first ", " #second, dtypes),
namespace repdl::internal {
std::vector<OpInfo> OpsOf_elementwise() {
  return {
#include "repdl/ops/elementwise.def"
  };
}
}  // namespace repdl::internal
