// SPDX-License-Identifier: MIT
#include "repdl/ops/linear.h"

#include <utility>

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/mm/mm_kernel.h"

namespace repdl {
namespace {

void Run(const Place& place, const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
         Order order, const TensorView& output) {
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  const TensorView rows = input.rank() == 2 ? input : Contiguous(input, scratch);
  MmArgs args{};
  args.n = weight.shape[0], args.k = weight.shape[1];
  args.m = output.numel() / args.n;
  args.batch = 1;
  args.dtype = input.dtype;
  args.a = rows.data, args.b = weight.data;
  args.a_row_stride = rows.rank() == 2 ? rows.strides[0] : args.k;
  args.a_col_stride = rows.rank() == 2 ? rows.strides[1] : 1;
  args.b_row_stride = weight.strides[1], args.b_col_stride = weight.strides[0];
  args.c = output.data;
  args.bias = bias ? Contiguous(*bias, scratch).data : nullptr;
  args.order = order;
  MmKernel(place, args);
}

}  // namespace

Specs InferLinear(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias, Order) {
  CheckFloat({"linear", "input"}, input, input);
  CheckFloat({"linear", "weight"}, weight, input);
  CheckRank({"linear", "input"}, input, 1, kMaxRank, "(…, k)");
  CheckRank({"linear", "weight"}, weight, 2, 2, "(n, k)");
  const int64_t n = weight.shape[0], k = weight.shape[1];
  REPDL_CHECK(input.shape[input.rank() - 1] == k, ArgName{"linear", "input"}, " of shape ", Name(input.shape),
              " must end in the ", k, " columns of weight, ", Name(weight.shape));
  if (bias) {
    CheckFloat({"linear", "bias"}, *bias, input);
    CheckShape({"linear", "bias"}, *bias, {n});
  }
  IntList shape = input.shape;
  shape[shape.size() - 1] = n;
  return {{input.dtype, shape}};
}

void Linear(const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias, Order order,
            Out output) {
  const FpEnvGuard guard;
  CheckOutputs("linear", InferLinear(input, weight, bias, order), {&output}, input);
  const Place place = PlaceOf("linear", input);
  Run(place, input, weight, bias, order, output);
}

Specs InferAddmm(const TensorView& input, const TensorView& mat1, const TensorView& mat2, Order) {
  CheckFloat({"addmm", "input"}, input, input);
  CheckFloat({"addmm", "mat1"}, mat1, input);
  CheckFloat({"addmm", "mat2"}, mat2, input);
  CheckRank({"addmm", "mat1"}, mat1, 2, 2, "(m, k)");
  CheckRank({"addmm", "mat2"}, mat2, 2, 2, "(k, n)");
  REPDL_CHECK(mat1.shape[1] == mat2.shape[0], ArgName{"addmm", "mat2"}, " of shape ", Name(mat2.shape), " has ",
              mat2.shape[0], " rows to multiply, but mat1 of shape ", Name(mat1.shape), " has ", mat1.shape[1],
              " columns");
  CheckShape({"addmm", "input"}, input, {mat2.shape[1]});
  return {{input.dtype, {mat1.shape[0], mat2.shape[1]}}};
}

void Addmm(const TensorView& input, const TensorView& mat1, const TensorView& mat2, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("addmm", InferAddmm(input, mat1, mat2, order), {&output}, input);
  const Place place = PlaceOf("addmm", input);
  TensorView weight = mat2;
  std::swap(weight.shape[0], weight.shape[1]);
  std::swap(weight.strides[0], weight.strides[1]);
  Run(place, mat1, weight, input, order, output);
}

}  // namespace repdl

REPDL_OPS(linear,
          MakeOp<InferLinear, Linear, MmKernel>("linear", "input, weight, bias=None, order='blocked'", kFloat32Or64),
          MakeOp<InferAddmm, Addmm, MmKernel>("addmm", "input, mat1, mat2, order='blocked'", kFloat32Or64))
