// SPDX-License-Identifier: MIT
#include "repdl/ops/complex.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/pairs.h"
#include "ops/complex/complex_kernel.h"
#include "ops/elementwise/elementwise_kernel.h"

namespace repdl {
namespace {

Specs InferUnary(const ArgName& name, const TensorView& input) {
  CheckPairs(name, input, input);
  return {{input.dtype, input.shape}};
}

Specs InferBinary(const ArgName& first, const TensorView& a, const ArgName& second, const TensorView& b) {
  CheckPairs(first, a, a);
  CheckPairs(second, b, a);
  return {BroadcastSpec({{first, a}, {second, b}})};
}

template <class Kernel>
void Map(std::string_view op, const Specs& specs, std::initializer_list<const TensorView*> inputs,
         const TensorView& result, const Kernel& kernel) {
  const TensorView& first = **inputs.begin();
  CheckOutputs(op, specs, {&result}, first);
  const Place place = PlaceOf(op, first);
  if (result.numel() == 0) return;
  const TensorView a = PartsOf(first, 0), b = PartsOf(**(inputs.end() - 1), 0), to = PartsOf(result, 0);
  PairsArgs args{inputs.size() == 1 ? MakeMapArgs({&a}, to) : MakeMapArgs({&a, &b}, to)};
  int t = 0;
  for (const TensorView* input : inputs) args.part_strides[t++] = input->strides[input->rank() - 1];
  kernel(place, args);
}

Specs InferOfParts(const ArgName& name, const TensorView& input) {
  CheckPairs(name, input, input);
  return {{input.dtype, PartsOf(input, 0).shape}};
}

template <class Kernel>
void MapParts(std::string_view op, const TensorView& input, int first, int second, const TensorView& result,
              const Kernel& kernel) {
  const FpEnvGuard guard;
  CheckOutputs(op, InferOfParts({op, "input"}, input), {&result}, input);
  const Place place = PlaceOf(op, input);
  if (result.numel() == 0) return;
  const TensorView a = PartsOf(input, first), b = PartsOf(input, second);
  kernel(place, MakeMapArgs({&a, &b}, result));
}

}  // namespace

Specs InferComplexAbs(const TensorView& input) { return InferOfParts({"complex_abs", "input"}, input); }
void ComplexAbs(const TensorView& input, Out result) { MapParts("complex_abs", input, 0, 1, result, HypotKernel); }

Specs InferComplexAngle(const TensorView& input) { return InferOfParts({"complex_angle", "input"}, input); }
void ComplexAngle(const TensorView& input, Out result) { MapParts("complex_angle", input, 1, 0, result, Atan2Kernel); }

#define REPDL_COMPLEX_UNARY(op, Function, Lanes)                                               \
  Specs Infer##Function(const TensorView& input) { return InferUnary({#op, "input"}, input); } \
  void Function(const TensorView& input, Out result) {                                         \
    const FpEnvGuard guard;                                                                    \
    Map(#op, Infer##Function(input), {&input}, result, Function##Kernel);                      \
  }
#define REPDL_COMPLEX_BINARY(op, Function, Lanes, first, second)                           \
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
#define REPDL_COMPLEX_BINARY(op, Function, Lanes, first, second) \
  MakeOp<Infer##Function, Function, Function##Kernel>(#op, #first ", " #second, kFloat32Or64),
namespace repdl::internal {
std::vector<OpInfo> OpsOf_complex() {
  return {
      MakeOp<InferComplexAbs, ComplexAbs, HypotKernel>("complex_abs", "input", kFloat32Or64),
      MakeOp<InferComplexAngle, ComplexAngle, Atan2Kernel>("complex_angle", "input", kFloat32Or64),
#include "repdl/ops/complex.def"
  };
}
}  // namespace repdl::internal
