// SPDX-License-Identifier: MIT
#include "repdl/ops/mm.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/convert.h"
#include "drivers/unsigned.h"
#include "ops/mm/complex_mm_kernel.h"
#include "ops/mm/integer_mm_kernel.h"
#include "ops/mm/mm_shapes.h"
#include "ops/mm/multiply.h"

namespace repdl {
namespace {

MmShapes Check(const TensorView& input, const TensorView& mat2, bool transA, bool transB) {
  CheckFloat({"mm", "input"}, input, input);
  CheckFloat({"mm", "mat2"}, mat2, input);
  return MmShapes("mm", input, mat2, transA, transB);
}

/// A matrix, or one row, times a column.
void TimesColumn(const Place& place, const TensorView& rows, const TensorView& column, Order order, Out output) {
  if (output.numel() == 0) return;
  const bool is_matrix = rows.rank() == 2;
  MmArgs args{};
  args.m = output.numel(), args.n = args.batch = 1, args.k = column.shape[0];
  args.dtype = rows.dtype;
  args.a = rows.data, args.b = column.data;
  args.a_row_stride = is_matrix ? rows.strides[0] : 1, args.a_col_stride = rows.strides[is_matrix ? 1 : 0];
  args.b_row_stride = column.strides[0], args.b_col_stride = 1;
  args.c = output.data;
  args.order = order;
  Multiply(place, args);
}

}  // namespace

Specs InferMm(const TensorView& input, const TensorView& mat2, bool transA, bool transB, Order) {
  return Check(input, mat2, transA, transB).Result(input.dtype);
}

void Mm(const TensorView& input, const TensorView& mat2, bool transA, bool transB, Order order, Out output) {
  const FpEnvGuard guard;
  const MmShapes shapes = Check(input, mat2, transA, transB);
  CheckOutputs("mm", shapes.Result(input.dtype), {&output}, input);
  const Place place = PlaceOf("mm", input);
  if (output.numel() == 0) return;
  MmArgs args{};
  args.m = shapes.m, args.n = shapes.n, args.k = shapes.k;
  args.batch = shapes.Count();
  args.dtype = input.dtype;
  args.a = input.data, args.b = mat2.data;
  args.a_batch = shapes.BatchLoops(input), args.b_batch = shapes.BatchLoops(mat2);
  args.a_row_stride = input.strides[input.rank() - (transA ? 1 : 2)];
  args.a_col_stride = input.strides[input.rank() - (transA ? 2 : 1)];
  args.b_row_stride = mat2.strides[mat2.rank() - (transB ? 1 : 2)];
  args.b_col_stride = mat2.strides[mat2.rank() - (transB ? 2 : 1)];
  args.c = output.data;
  args.order = order;
  Multiply(place, args);
}

Specs InferMv(const TensorView& input, const TensorView& vec, Order) {
  constexpr ArgName kInput{"mv", "input"}, kVec{"mv", "vec"};
  CheckFloat(kInput, input, input);
  CheckFloat(kVec, vec, input);
  CheckRank(kInput, input, 2, 2, "(m, k)");
  CheckRank(kVec, vec, 1, 1, "(k)");
  REPDL_CHECK(input.shape[1] == vec.shape[0], kVec, " has ", vec.shape[0], " elements, but input has ", input.shape[1],
              " columns");
  return {{input.dtype, {input.shape[0]}}};
}

void Mv(const TensorView& input, const TensorView& vec, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("mv", InferMv(input, vec, order), {&output}, input);
  TimesColumn(PlaceOf("mv", input), input, vec, order, output);
}

Specs InferDot(const TensorView& input, const TensorView& tensor, Order) {
  constexpr ArgName kInput{"dot", "input"}, kTensor{"dot", "tensor"};
  CheckFloat(kInput, input, input);
  CheckFloat(kTensor, tensor, input);
  CheckRank(kInput, input, 1, 1, "(k)");
  CheckRank(kTensor, tensor, 1, 1, "(k)");
  REPDL_CHECK(input.shape[0] == tensor.shape[0], kTensor, " has ", tensor.shape[0], " elements, but input has ",
              input.shape[0]);
  return {{input.dtype, {}}};
}

void Dot(const TensorView& input, const TensorView& tensor, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("dot", InferDot(input, tensor, order), {&output}, input);
  TimesColumn(PlaceOf("dot", input), input, tensor, order, output);
}

}  // namespace repdl

REPDL_OPS(mm,
          MakeOp<InferMm, Mm, MmKernel, ConvertKernel>("mm", "input, mat2, transA=False, transB=False, order='blocked'",
                                                       kUpToFloat64),
          MakeOp<InferMv, Mv, MmKernel, ConvertKernel>("mv", "input, vec, order='blocked'", kUpToFloat64),
          MakeOp<InferDot, Dot, MmKernel, ConvertKernel>("dot", "input, tensor, order='blocked'", kUpToFloat64),
          MakeOp<InferComplexMm, ComplexMm, ComplexTilesKernel, MmKernel, SplitPairsKernel, JoinProductsKernel>(
              "complex_mm", "input, mat2, conjA=False, conjB=False, order='blocked'", kFloat32Or64),
          MakeOp<InferIntegerMm, IntegerMm, IntegerMmKernel>("integer_mm", "input, mat2", kIntegers))
