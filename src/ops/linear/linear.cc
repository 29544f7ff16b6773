// SPDX-License-Identifier: MIT
#include "repdl/ops/linear.h"

#include <utility>

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/convert.h"
#include "drivers/reduce.h"
#include "ops/mm/multiply.h"

namespace repdl {
namespace {

/// The rows of a tensor (…, k).
Loops RowsOf(const TensorView& input) {
  Loops rows;
  // A tensor without elements may lie nowhere: nothing steps through it.
  const bool empty = input.numel() == 0;
  for (int dim = 0; dim < input.rank() - 1; ++dim) rows.Append(input.shape[dim], empty ? 0 : input.strides[dim]);
  return rows;
}

void Run(const Place& place, const TensorView& input, const TensorView& weight, const std::optional<TensorView>& bias,
         Order order, const TensorView& output) {
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  TensorView x = input;
  Loops rows = RowsOf(x);
  // Rows of more than one step are those of a batch of matrices. The CPU would pack the weight for each.
  if (rows.shape.size() > 1 && place.IsCpu()) {
    x = Contiguous(input, scratch);
    rows = RowsOf(x);
  }
  MmArgs args{};
  args.n = weight.shape[0], args.k = weight.shape[1];
  args.m = rows.InnerSize();
  args.batch = output.numel() / (args.m * args.n);
  args.dtype = input.dtype;
  args.a = x.data, args.b = weight.data;
  args.a_row_stride = rows.InnerStride(), args.a_col_stride = x.strides[x.rank() - 1];
  for (int dim = 0; dim < rows.shape.size() - 1; ++dim) args.a_batch.Append(rows.shape[dim], rows.strides[dim]);
  args.b_row_stride = weight.strides[1], args.b_col_stride = weight.strides[0];
  args.c = output.data;
  if (bias) args.bias = bias->data, args.bias_stride = bias->strides[0];
  args.order = order;
  Multiply(place, args);
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
          MakeOp<InferLinear, Linear, MmKernel, ConvertKernel>("linear", "input, weight, bias=None, order='blocked'",
                                                               kUpToFloat64),
          MakeOp<InferAddmm, Addmm, MmKernel, ConvertKernel>("addmm", "input, mat1, mat2, order='blocked'",
                                                             kUpToFloat64))
