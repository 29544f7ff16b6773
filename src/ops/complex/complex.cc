// SPDX-License-Identifier: MIT
#include "repdl/ops/complex.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/complex/complex_kernel.h"

namespace repdl {
namespace {

void CheckPairs(const ArgName& name, const TensorView& tensor, const TensorView& like) {
  CheckFloat(name, tensor, like);
  REPDL_CHECK(tensor.rank() > 0 && tensor.shape[tensor.rank() - 1] == 2, name, " of shape ", Name(tensor.shape),
              " must have a last dimension of size 2, for real and imaginary parts; use torch.view_as_real()");
}

Specs InferUnary(const ArgName& name, const TensorView& input) {
  CheckPairs(name, input, input);
  return {{input.dtype, input.shape}};
}

Specs InferBinary(const ArgName& first, const TensorView& a, const ArgName& second, const TensorView& b) {
  CheckPairs(first, a, a);
  CheckPairs(second, b, a);
  return {BroadcastSpec({{first, a}, {second, b}})};
}

TensorView RealParts(const TensorView& pairs) {
  TensorView parts = pairs;
  parts.shape = IntList(std::span(pairs.shape.begin(), pairs.shape.end() - 1));
  parts.strides = IntList(std::span(pairs.strides.begin(), pairs.strides.end() - 1));
  return parts;
}

template <class Kernel>
void Map(std::string_view op, const Specs& specs, std::initializer_list<const TensorView*> inputs,
         const TensorView& result, const Kernel& kernel) {
  const TensorView& first = **inputs.begin();
  CheckOutputs(op, specs, {&result}, first);
  const Place place = PlaceOf(op, first);
  if (result.numel() == 0) return;
  const TensorView a = RealParts(first), b = RealParts(**(inputs.end() - 1)), to = RealParts(result);
  PairsArgs args{inputs.size() == 1 ? MakeMapArgs({&a}, to) : MakeMapArgs({&a, &b}, to)};
  int t = 0;
  for (const TensorView* input : inputs) args.part_strides[t++] = input->strides[input->rank() - 1];
  kernel(place, args);
}

}  // namespace

#define REPDL_COMPLEX_UNARY(op, Function, Lanes)                                               \
  Specs Infer##Function(const TensorView& input) { return InferUnary({#op, "input"}, input); } \
  void Function(const TensorView& input, Out result) {                                         \
    const FpEnvGuard guard;                                                                    \
    Map(#op, Infer##Function(input), {&input}, result, Function##Kernel);                      \
  }
#define REPDL_COMPLEX_BINARY(op, Function, first, second)                                  \
  Specs Infer##Function(const TensorView& first, const TensorView& second) {               \
    return InferBinary({#op, #first}, first, {#op, #second}, second);                      \
  }                                                                                        \
  void Function(const TensorView& first, const TensorView& second, Out result) {           \
    const FpEnvGuard guard;                                                                \
    Map(#op, Infer##Function(first, second), {&first, &second}, result, Function##Kernel); \
  }
#include "repdl/ops/complex.def"
#undef REPDL_COMPLEX_UNARY
#undef REPDL_COMPLEX_BINARY

}  // namespace repdl

#define REPDL_COMPLEX_UNARY(op, Function, Lanes) \
  MakeOp<Infer##Function, Function, Function##Kernel>(#op, "input", kFloat32Or64),
#define REPDL_COMPLEX_BINARY(op, Function, first, second) \
  MakeOp<Infer##Function, Function, Function##Kernel>(#op, #first ", " #second, kFloat32Or64),
namespace repdl::internal {
std::vector<OpInfo> OpsOf_complex() {
  return {
#include "repdl/ops/complex.def"
  };
}
}  // namespace repdl::internal
