// SPDX-License-Identifier: MIT
#include "repdl/ops/sort.h"

#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/sort/sort_kernel.h"

namespace repdl {
namespace {

constexpr DTypes kOrdered = {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16, DType::kInt8,
                             DType::kInt16,   DType::kInt32,   DType::kInt64,    DType::kUInt8};

/// A tensor as rows along a dimension: a single number is a row of one.
struct Rows {
  Rows(std::string_view op, const TensorView& input, int64_t dim_of_call) {
    CheckFloating({op, "input"}, input);
    dim = CheckDim({op, "dim"}, dim_of_call, std::max(input.rank(), 1));
    n = input.rank() == 0 ? 1 : input.shape[dim];
    REPDL_CHECK(n <= UINT32_MAX, ArgName{op, "input"}, " has rows of ", n, " numbers; at most 2^32 - 1 are supported");
  }
  int dim;
  int64_t n;
};

Specs WithIndices(DType dtype, const IntList& shape) { return {{dtype, shape}, {DType::kInt64, shape}}; }

Specs InferOne(std::string_view op, const TensorView& input, int64_t dim, bool keepdim) {
  const Rows rows(op, input, dim);
  IntList shape;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != rows.dim) {
      shape.Append(input.shape[i]);
    } else if (keepdim) {
      shape.Append(1);
    }
  }
  REPDL_CHECK(rows.n > 0, ArgName{op, "input"}, " of shape ", Name(input.shape),
              " has rows without numbers, of which none can be chosen; give it some");
  return WithIndices(input.dtype, shape);
}

/// The same dimensions with one of them last.
IntList WithLast(int rank, int dim) {
  IntList dims;
  for (int i = 0; i < rank; ++i) {
    if (i != dim) dims.Append(i);
  }
  if (dim < rank) dims.Append(dim);
  return dims;
}

/// `args` says what is chosen. The results have size k along the dimension, or lack it.
void Run(std::string_view op, const TensorView& input, int64_t dim_of_call, const TensorView& values,
         const TensorView& indices, SortArgs args) {
  const Place place = PlaceOf(op, input);
  if (values.numel() == 0) return;
  const int dim = Rows(op, input, dim_of_call).dim;
  args.dtype = input.dtype;
  args.n = input.rank() == 0 ? 1 : input.shape[dim];
  args.rows = values.numel() / args.k;
  OpScratch scratch(place);
  const IntList dims = WithLast(input.rank(), dim);
  args.x = Contiguous(Permuted(input, dims), scratch).data;
  // Where the dimension of the results is not the last one, they are made with it as the last, and then copied.
  const bool in_place = args.k == 1 || dim + 1 >= input.rank();
  TensorView to_values = values, to_indices = indices;
  if (!in_place) {
    to_values = Permuted(values, dims), to_indices = Permuted(indices, dims);
    args.values = scratch.New(values.dtype, to_values.shape).data;
    args.indices = scratch.New(DType::kInt64, to_indices.shape).Data<int64_t>();
  } else {
    args.values = values.data;
    args.indices = indices.Data<int64_t>();
  }
  SortKernel(place, args);
  if (in_place) return;
  CopyElements(place, MakeView(args.values, values.dtype, to_values.shape), to_values);
  CopyElements(place, MakeView(args.indices, to_indices.shape), to_indices);
}

void RunOne(std::string_view op, Choice choice, const TensorView& input, int64_t dim, int64_t rank,
            const TensorView& values, const TensorView& indices) {
  SortArgs args{};
  args.choice = choice, args.k = 1, args.rank = rank;
  Run(op, input, dim, values, indices, args);
}

}  // namespace

Specs InferSort(const TensorView& input, int64_t dim, bool) {
  const Rows rows("sort", input, dim);
  return WithIndices(input.dtype, input.shape);
}
void Sort(const TensorView& input, int64_t dim, bool descending, Out values, Out indices) {
  const FpEnvGuard guard;
  CheckOutputs("sort", InferSort(input, dim, descending), {&values, &indices}, input);
  SortArgs args{};
  args.choice = Choice::kFirst, args.descending = descending, args.k = Rows("sort", input, dim).n;
  Run("sort", input, dim, values, indices, args);
}

Specs InferTopk(const TensorView& input, int64_t k, int64_t dim, bool, bool) {
  const Rows rows("topk", input, dim);
  REPDL_CHECK(k >= 0 && k <= rows.n, ArgName{"topk", "k"}, " must be in [0, ", rows.n,
              "], the size along the dimension, got ", k);
  IntList shape = input.shape;
  if (input.rank() > 0) shape[rows.dim] = k;
  return WithIndices(input.dtype, shape);
}
void Topk(const TensorView& input, int64_t k, int64_t dim, bool largest, bool sorted, Out values, Out indices) {
  const FpEnvGuard guard;
  CheckOutputs("topk", InferTopk(input, k, dim, largest, sorted), {&values, &indices}, input);
  SortArgs args{};
  args.choice = Choice::kFirst, args.descending = largest, args.k = input.rank() == 0 ? 1 : k;
  Run("topk", input, dim, values, indices, args);
}

Specs InferKthvalue(const TensorView& input, int64_t k, int64_t dim, bool keepdim) {
  const Rows rows("kthvalue", input, dim);
  REPDL_CHECK(k >= 1 && k <= rows.n, ArgName{"kthvalue", "k"}, " must be in [1, ", rows.n,
              "], the size along the dimension, got ", k);
  return InferOne("kthvalue", input, dim, keepdim);
}
void Kthvalue(const TensorView& input, int64_t k, int64_t dim, bool keepdim, Out values, Out indices) {
  const FpEnvGuard guard;
  CheckOutputs("kthvalue", InferKthvalue(input, k, dim, keepdim), {&values, &indices}, input);
  RunOne("kthvalue", Choice::kKth, input, dim, k - 1, values, indices);
}

Specs InferMedian(const TensorView& input, int64_t dim, bool keepdim) {
  return InferOne("median", input, dim, keepdim);
}
void Median(const TensorView& input, int64_t dim, bool keepdim, Out values, Out indices) {
  const FpEnvGuard guard;
  CheckOutputs("median", InferMedian(input, dim, keepdim), {&values, &indices}, input);
  RunOne("median", Choice::kMedian, input, dim, 0, values, indices);
}

Specs InferNanmedian(const TensorView& input, int64_t dim, bool keepdim) {
  return InferOne("nanmedian", input, dim, keepdim);
}
void Nanmedian(const TensorView& input, int64_t dim, bool keepdim, Out values, Out indices) {
  const FpEnvGuard guard;
  CheckOutputs("nanmedian", InferNanmedian(input, dim, keepdim), {&values, &indices}, input);
  RunOne("nanmedian", Choice::kNanMedian, input, dim, 0, values, indices);
}

Specs InferMode(const TensorView& input, int64_t dim, bool keepdim) { return InferOne("mode", input, dim, keepdim); }
void Mode(const TensorView& input, int64_t dim, bool keepdim, Out values, Out indices) {
  const FpEnvGuard guard;
  CheckOutputs("mode", InferMode(input, dim, keepdim), {&values, &indices}, input);
  RunOne("mode", Choice::kMode, input, dim, 0, values, indices);
}

}  // namespace repdl

REPDL_OPS(sort, MakeOp<InferSort, Sort, SortKernel>("sort", "input, dim=-1, descending=False", kOrdered),
          MakeOp<InferTopk, Topk, SortKernel>("topk", "input, k, dim=-1, largest=True, sorted=True", kOrdered),
          MakeOp<InferKthvalue, Kthvalue, SortKernel>("kthvalue", "input, k, dim=-1, keepdim=False", kOrdered),
          MakeOp<InferMedian, Median, SortKernel>("median", "input, dim, keepdim=False", kOrdered),
          MakeOp<InferNanmedian, Nanmedian, SortKernel>("nanmedian", "input, dim, keepdim=False", kOrdered),
          MakeOp<InferMode, Mode, SortKernel>("mode", "input, dim=-1, keepdim=False", kOrdered))
