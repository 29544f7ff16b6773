// SPDX-License-Identifier: MIT
#include "repdl/ops/mm.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/unsigned.h"
#include "ops/mm/complex_mm_kernel.h"
#include "ops/mm/integer_mm_kernel.h"
#include "ops/mm/mm_kernel.h"
#include "ops/mm/mm_shapes.h"

namespace repdl {
namespace {

MmShapes Check(const TensorView& input, const TensorView& mat2, bool transA, bool transB) {
  CheckFloat({"mm", "input"}, input, input);
  CheckFloat({"mm", "mat2"}, mat2, input);
  return MmShapes("mm", input, mat2, transA, transB);
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
  MmKernel(place, args);
}

}  // namespace repdl

REPDL_OPS(mm,
          MakeOp<InferMm, Mm, MmKernel>("mm", "input, mat2, transA=False, transB=False, order='blocked'", kFloat32Or64),
          MakeOp<InferComplexMm, ComplexMm, ComplexTilesKernel, MmKernel, SplitPairsKernel, JoinProductsKernel>(
              "complex_mm", "input, mat2, conjA=False, conjB=False, order='blocked'", kFloat32Or64),
          MakeOp<InferIntegerMm, IntegerMm, IntegerMmKernel>("integer_mm", "input, mat2", kIntegers))
