// SPDX-License-Identifier: MIT
#include "repdl/ops/glu.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/contiguous.h"
#include "ops/glu/glu_kernel.h"

namespace repdl {
namespace {

/// The shape of a half along `dim`, which becomes a place from the start.
IntList HalfOf(std::string_view op, const TensorView& input, int64_t& dim) {
  const ArgName name{op, "input"};
  CheckFloating(name, input);
  CheckRank(name, input, 1, kMaxRank, "of one dimension or more");
  dim = CheckDim({op, "dim"}, dim, input.rank());
  IntList shape = input.shape;
  REPDL_CHECK(shape[dim] % 2 == 0, name, " has size ", shape[dim], " along dimension ", dim,
              ", which has no halves; give an even size");
  shape[dim] /= 2;
  return shape;
}

}  // namespace

Specs InferGlu(const TensorView& input, int64_t dim) { return {{input.dtype, HalfOf("glu", input, dim)}}; }

void Glu(const TensorView& input, int64_t dim, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("glu", InferGlu(input, dim), {&output}, input);
  const Place place = PlaceOf("glu", input);
  if (output.numel() == 0) return;
  TensorView value = input;
  value.shape = HalfOf("glu", input, dim);
  TensorView gate = value;
  gate.data = static_cast<char*>(input.data) + value.shape[dim] * input.strides[dim] * ItemSize(input.dtype);
  GluKernel(place, MakeMapArgs({&value, &gate}, output));
}

Specs InferGluGrad(const TensorView& grad_output, const TensorView& input, int64_t dim) {
  CheckFloat({"glu_grad", "grad_output"}, grad_output, HalfOf("glu_grad", input, dim), input);
  return {{input.dtype, input.shape}};
}

void GluGrad(const TensorView& grad_output, const TensorView& input, int64_t dim, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("glu_grad", InferGluGrad(grad_output, input, dim), {&grad_input}, input);
  const Place place = PlaceOf("glu_grad", input);
  if (grad_input.numel() == 0) return;
  const IntList half = HalfOf("glu_grad", input, dim);
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < half.size(); ++i) (i < dim ? outer : inner) *= half[i];
  OpScratch scratch(place);
  const TensorView grad = Contiguous(grad_output, scratch), x = Contiguous(input, scratch);
  GluGradKernel(place, {input.dtype, outer, inner, grad.data, x.data, grad_input.data});
}

}  // namespace repdl

REPDL_OPS(glu, MakeOp<InferGlu, Glu, GluKernel>("glu", "input, dim=-1", kUpToFloat64),
          MakeOp<InferGluGrad, GluGrad, GluGradKernel>("glu_grad", "grad_output, input, dim=-1", kUpToFloat64))
