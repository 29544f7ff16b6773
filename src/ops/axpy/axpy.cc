// SPDX-License-Identifier: MIT
#include "repdl/ops/axpy.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/axpy/axpy_kernel.h"

namespace repdl {
namespace {

void Run(Axpy axpy, std::string_view op, const Specs& specs, std::initializer_list<const TensorView*> inputs,
         double scalar, const TensorView& output) {
  const FpEnvGuard guard;
  const TensorView& first = **inputs.begin();
  CheckOutputs(op, specs, {&output}, first);
  const Place place = PlaceOf(op, first);
  if (output.numel() > 0) AxpyKernel(place, {axpy, MakeMapArgs(inputs, output), scalar});
}

}  // namespace

Specs InferAdd(const TensorView& input, const TensorView& other, double) {
  return {BroadcastSpec({{{"add", "input"}, input}, {{"add", "other"}, other}})};
}

void Add(const TensorView& input, const TensorView& other, double alpha, Out output) {
  Run(Axpy::kAdd, "add", InferAdd(input, other, alpha), {&input, &other}, alpha, output);
}

Specs InferSub(const TensorView& input, const TensorView& other, double) {
  return {BroadcastSpec({{{"sub", "input"}, input}, {{"sub", "other"}, other}})};
}

void Sub(const TensorView& input, const TensorView& other, double alpha, Out output) {
  Run(Axpy::kSub, "sub", InferSub(input, other, alpha), {&input, &other}, alpha, output);
}

Specs InferAddcmul(const TensorView& input, const TensorView& tensor1, const TensorView& tensor2, double) {
  return {BroadcastSpec(
      {{{"addcmul", "input"}, input}, {{"addcmul", "tensor1"}, tensor1}, {{"addcmul", "tensor2"}, tensor2}})};
}

void Addcmul(const TensorView& input, const TensorView& tensor1, const TensorView& tensor2, double value, Out output) {
  Run(Axpy::kAddcmul, "addcmul", InferAddcmul(input, tensor1, tensor2, value), {&input, &tensor1, &tensor2}, value,
      output);
}

Specs InferAddcdiv(const TensorView& input, const TensorView& tensor1, const TensorView& tensor2, double) {
  return {BroadcastSpec(
      {{{"addcdiv", "input"}, input}, {{"addcdiv", "tensor1"}, tensor1}, {{"addcdiv", "tensor2"}, tensor2}})};
}

void Addcdiv(const TensorView& input, const TensorView& tensor1, const TensorView& tensor2, double value, Out output) {
  Run(Axpy::kAddcdiv, "addcdiv", InferAddcdiv(input, tensor1, tensor2, value), {&input, &tensor1, &tensor2}, value,
      output);
}

Specs InferLerp(const TensorView& input, const TensorView& end, double) {
  return {BroadcastSpec({{{"lerp", "input"}, input}, {{"lerp", "end"}, end}})};
}

void Lerp(const TensorView& input, const TensorView& end, double weight, Out output) {
  Run(Axpy::kLerp, "lerp", InferLerp(input, end, weight), {&input, &end}, weight, output);
}

Specs InferLerpTensor(const TensorView& input, const TensorView& end, const TensorView& weight) {
  return {BroadcastSpec(
      {{{"lerp_tensor", "input"}, input}, {{"lerp_tensor", "end"}, end}, {{"lerp_tensor", "weight"}, weight}})};
}

void LerpTensor(const TensorView& input, const TensorView& end, const TensorView& weight, Out output) {
  Run(Axpy::kLerpTensor, "lerp_tensor", InferLerpTensor(input, end, weight), {&input, &end, &weight}, 1, output);
}

}  // namespace repdl

REPDL_OPS(axpy, MakeOp<InferAdd, Add, AxpyKernel>("add", "input, other, alpha=1.0", kUpToFloat64),
          MakeOp<InferSub, Sub, AxpyKernel>("sub", "input, other, alpha=1.0", kUpToFloat64),
          MakeOp<InferAddcmul, Addcmul, AxpyKernel>("addcmul", "input, tensor1, tensor2, value=1.0", kUpToFloat64),
          MakeOp<InferAddcdiv, Addcdiv, AxpyKernel>("addcdiv", "input, tensor1, tensor2, value=1.0", kUpToFloat64),
          MakeOp<InferLerp, Lerp, AxpyKernel>("lerp", "input, end, weight", kUpToFloat64),
          MakeOp<InferLerpTensor, LerpTensor, AxpyKernel>("lerp_tensor", "input, end, weight", kUpToFloat64))
