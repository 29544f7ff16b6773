// SPDX-License-Identifier: MIT
#include "repdl/ops/sum.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/reduced_dims.h"
#include "ops/elementwise/elementwise_kernel.h"
#include "ops/sum/sum_kernel.h"

namespace repdl {
namespace {

/// By dimension, whether it is reduced.
using Reduced = bool[kMaxRank];

Specs Infer(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, bool keepdim) {
  CheckFloat({op, "input"}, input, input);
  const IntList shape = ReducedDims({op, "dim"}, input, dim).OutputShape(input, keepdim);
  return {{input.dtype, shape}};
}

/// Checks the operands of a reduction, and calls fill(place, is_reduced, number of terms) if there is something to fill.
template <class Fill>
void Run(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output,
         const Fill& fill) {
  const FpEnvGuard guard;
  CheckOutputs(op, Infer(op, input, dim, keepdim), {&output}, input);
  const Place place = PlaceOf(op, input);
  if (output.numel() == 0) return;
  const ReducedDims dims({op, "dim"}, input, dim);
  fill(place, dims.reduced, dims.count);
}

void SumInto(const Place& place, const TensorView& output, const TensorView& input, const Reduced& is_reduced,
             Order order, const SumEnd& end) {
  ReduceArgs args = MakeReduceArgs(input, is_reduced, order);
  args.end = end;
  args.out = output.data;
  SumKernel(place, args);
}

/// The squares of the numbers, or of their distances from `centre`, which broadcasts.
TensorView Squares(const Place& place, const TensorView& input, const TensorView* centre, OpScratch& scratch) {
  const TensorView squares = scratch.New(input.dtype, input.shape);
  if (squares.numel() == 0) return squares;
  if (centre == nullptr) {
    SquareKernel(place, MakeMapArgs({&input}, squares));
  } else {
    SquaredDistanceKernel(place, MakeMapArgs({&input, centre}, squares));
  }
  return squares;
}

void RunVar(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, double correction,
            bool keepdim, bool root, Order order, Out output) {
  Run(op, input, dim, keepdim, output, [&](const Place& place, const Reduced& is_reduced, int64_t n) {
    OpScratch scratch(place);
    IntList kept = input.shape;
    for (int i = 0; i < kept.size(); ++i) kept[i] = is_reduced[i] ? 1 : kept[i];
    const TensorView mean = scratch.New(input.dtype, kept);
    SumInto(place, mean, input, is_reduced, order, {.divisor = static_cast<double>(n)});
    const double freedom = std::max(static_cast<double>(n) - correction, 0.0);
    SumInto(place, output, Squares(place, input, &mean, scratch), is_reduced, order,
            {.divisor = freedom, .root = root});
  });
}

}  // namespace

Specs InferSum(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, bool, Order) {
  return Infer("sum", input, dim, keepdim);
}
void Sum(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, bool average, Order order,
         Out output) {
  Run("sum", input, dim, keepdim, output, [&](const Place& place, const Reduced& is_reduced, int64_t n) {
    const double factor = average ? 1.0 / static_cast<double>(n) : 1.0;
    SumInto(place, output, input, is_reduced, order, {.factor = factor});
  });
}

Specs InferMean(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order) {
  return Infer("mean", input, dim, keepdim);
}
void Mean(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output) {
  Run("mean", input, dim, keepdim, output, [&](const Place& place, const Reduced& is_reduced, int64_t n) {
    SumInto(place, output, input, is_reduced, order, {.divisor = static_cast<double>(n)});
  });
}

Specs InferNorm(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order) {
  return Infer("norm", input, dim, keepdim);
}
void Norm(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output) {
  Run("norm", input, dim, keepdim, output, [&](const Place& place, const Reduced& is_reduced, int64_t n) {
    if (output.numel() == 1 && input.IsContiguous()) {  // without squares in memory
      return DispatchReal(input.dtype, [&]<class T>() {
        NormKernel(place, NormArgs<T>{n, order, input.Data<const T>(), output.Data<T>()});
      });
    }
    OpScratch scratch(place);
    SumInto(place, output, Squares(place, input, nullptr, scratch), is_reduced, order, {.root = true});
  });
}

Specs InferVar(const TensorView& input, const std::optional<IntList>& dim, double, bool keepdim, Order) {
  return Infer("var", input, dim, keepdim);
}
void Var(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim, Order order,
         Out output) {
  RunVar("var", input, dim, correction, keepdim, /*root=*/false, order, output);
}
Specs InferStd(const TensorView& input, const std::optional<IntList>& dim, double, bool keepdim, Order) {
  return Infer("std", input, dim, keepdim);
}
void Std(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim, Order order,
         Out output) {
  RunVar("std", input, dim, correction, keepdim, /*root=*/true, order, output);
}

}  // namespace repdl

REPDL_OPS(sum,
          MakeOp<InferSum, Sum, SumKernel>("sum", "input, dim=None, keepdim=False, average=False, order='blocked'",
                                           kFloat32Or64),
          MakeOp<InferMean, Mean, SumKernel>("mean", "input, dim=None, keepdim=False, order='blocked'", kFloat32Or64),
          MakeOp<InferNorm, Norm, SumKernel, NormKernel, SquareKernel>(
              "norm", "input, dim=None, keepdim=False, order='blocked'", kFloat32Or64),
          MakeOp<InferVar, Var, SumKernel, SquaredDistanceKernel>(
              "var", "input, dim=None, correction=1, keepdim=False, order='blocked'", kFloat32Or64),
          MakeOp<InferStd, Std, SumKernel, SquaredDistanceKernel>(
              "std", "input, dim=None, correction=1, keepdim=False, order='blocked'", kFloat32Or64))
