// SPDX-License-Identifier: MIT
#include "repdl/ops/mm.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/mm/complex_mm_kernel.h"
#include "ops/mm/mm_kernel.h"

namespace repdl {
namespace {

struct Sizes {
  int64_t m, n, k;
  IntList batch;
};

Sizes Check(const TensorView& input, const TensorView& mat2, bool transA, bool transB) {
  const ArgName name_a{"mm", "input"}, name_b{"mm", "mat2"};
  CheckFloat(name_a, input, input);
  CheckFloat(name_b, mat2, input);
  CheckRank(name_a, input, 2, kMaxRank, "(…, m, k)");
  CheckRank(name_b, mat2, 2, kMaxRank, "(…, k, n)");
  const int a = input.rank(), b = mat2.rank();
  Sizes sizes{
      input.shape[a - (transA ? 1 : 2)], mat2.shape[b - (transB ? 2 : 1)], input.shape[a - (transA ? 2 : 1)], {}};
  const int64_t k = mat2.shape[b - (transB ? 1 : 2)];
  REPDL_CHECK(sizes.k == k, name_b, " of shape ", Name(mat2.shape), transB ? " (transposed)" : "", " has ", k,
              " rows to multiply, but input of shape ", Name(input.shape), transA ? " (transposed)" : "", " has ",
              sizes.k, " columns");
  const TensorView& longer = a >= b ? input : mat2;
  for (int i = 0; i < longer.rank() - 2; ++i) sizes.batch.Append(longer.shape[i]);
  if (a > 2 && b > 2) {
    REPDL_CHECK(a == b && std::equal(sizes.batch.begin(), sizes.batch.end(), mat2.shape.begin()) &&
                    std::equal(sizes.batch.begin(), sizes.batch.end(), input.shape.begin()),
                name_b, " of shape ", Name(mat2.shape), " must have the batch dimensions of input, ", Name(input.shape),
                ", or none; use expand()");
  }
  return sizes;
}

/// Where the matrices of a batch lie.
Loops BatchLoops(const TensorView& tensor, const IntList& batch) {
  Loops loops;
  // A tensor without elements may lie nowhere: nothing steps through it.
  if (tensor.rank() == 2 || tensor.numel() == 0) return loops;
  for (int dim = 0; dim < batch.size(); ++dim) loops.Append(batch[dim], tensor.strides[dim]);
  return loops;
}

Specs ResultOf(DType dtype, const Sizes& sizes) {
  TensorSpec result{dtype, sizes.batch};
  result.shape.Append(sizes.m);
  result.shape.Append(sizes.n);
  return {result};
}

}  // namespace

Specs InferMm(const TensorView& input, const TensorView& mat2, bool transA, bool transB, Order) {
  return ResultOf(input.dtype, Check(input, mat2, transA, transB));
}

void Mm(const TensorView& input, const TensorView& mat2, bool transA, bool transB, Order order, Out output) {
  const FpEnvGuard guard;
  const Sizes sizes = Check(input, mat2, transA, transB);
  CheckOutputs("mm", ResultOf(input.dtype, sizes), {&output}, input);
  const Place place = PlaceOf("mm", input);
  if (output.numel() == 0) return;
  MmArgs args{};
  args.m = sizes.m, args.n = sizes.n, args.k = sizes.k;
  args.batch = 1;
  for (int64_t size : sizes.batch) args.batch *= size;
  args.dtype = input.dtype;
  args.a = input.data, args.b = mat2.data;
  args.a_batch = BatchLoops(input, sizes.batch), args.b_batch = BatchLoops(mat2, sizes.batch);
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
              "complex_mm", "input, mat2, conjA=False, conjB=False, order='blocked'", kFloat32Or64))
