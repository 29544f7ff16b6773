// SPDX-License-Identifier: MIT
#include "repdl/ops/sum.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "base/pairs.h"
#include "drivers/convert.h"
#include "drivers/reduced_dims.h"
#include "ops/axpy/axpy_kernel.h"
#include "ops/elementwise/elementwise_kernel.h"
#include "ops/sum/sum_kernel.h"

namespace repdl {
namespace {

/// By dimension, whether it is reduced.
using Reduced = bool[kMaxRank];

ReducedDims Check(std::string_view op, const TensorView& input, const std::optional<IntList>& dim) {
  CheckFloat({op, "input"}, input, input);
  return {{op, "dim"}, input, dim};
}

Specs Infer(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, bool keepdim) {
  return {{input.dtype, Check(op, input, dim).OutputShape(input, keepdim)}};
}

/// Checks the operands of a reduction, and calls fill(place, is_reduced, number of terms) if there is something to fill.
template <class Fill>
void Run(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Out output,
         const Fill& fill) {
  const FpEnvGuard guard;
  const ReducedDims dims = Check(op, input, dim);
  CheckOutputs(op, {{input.dtype, dims.OutputShape(input, keepdim)}}, {&output}, input);
  const Place place = PlaceOf(op, input);
  if (output.numel() > 0) fill(place, dims.reduced, dims.count);
}

void SumInto(const Place& place, const TensorView& output, const TensorView& input, const Reduced& is_reduced,
             Order order, const SumEnd& end) {
  OpScratch scratch(place);
  const bool is_low = IsLow(input.dtype);
  const TensorView sums = is_low ? scratch.New(DType::kFloat32, output.shape) : output;
  ReduceArgs args = MakeReduceArgs(is_low && !place.IsCpu() ? Widened(input, scratch) : input, is_reduced, order);
  args.end = end;
  args.out = sums.data;
  SumKernel(place, args);
  if (is_low) Convert(place, sums, output);
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

void NormInto(const Place& place, const TensorView& output, const TensorView& input, const Reduced& is_reduced,
              Order order) {
  if (output.numel() == 1 && input.IsContiguous()) {  // without squares in memory
    return DispatchReal(input.dtype, [&]<class T>() {
      NormKernel(place, NormArgs<T>{input.numel(), order, input.Data<const T>(), output.Data<T>()});
    });
  }
  OpScratch scratch(place);
  SumInto(place, output, Squares(place, input, nullptr, scratch), is_reduced, order, {.root = true});
}

/// Of n terms.
void VarInto(const Place& place, const TensorView& output, const TensorView& input, const Reduced& is_reduced,
             int64_t n, double correction, bool root, Order order) {
  OpScratch scratch(place);
  IntList kept = input.shape;
  for (int i = 0; i < kept.size(); ++i) kept[i] = is_reduced[i] ? 1 : kept[i];
  const TensorView mean = scratch.New(input.dtype, kept);
  SumInto(place, mean, input, is_reduced, order, {.divisor = static_cast<double>(n)});
  const double freedom = std::max(static_cast<double>(n) - correction, 0.0);
  SumInto(place, output, Squares(place, input, &mean, scratch), is_reduced, order, {.divisor = freedom, .root = root});
}

void RunVar(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, double correction,
            bool keepdim, bool root, Order order, Out output) {
  Run(op, input, dim, keepdim, output, [&](const Place& place, const Reduced& is_reduced, int64_t n) {
    VarInto(place, output, input, is_reduced, n, correction, root, order);
  });
}

/// Of pairs: `dim` counts the dimensions that they have but for the last, which is reduced where the result is real.
Specs InferOfPairs(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, bool keepdim,
                   bool to_real) {
  CheckPairs({op, "input"}, input, input);
  const TensorView numbers = PartsOf(input, 0);
  IntList shape = ReducedDims({op, "dim"}, numbers, dim).OutputShape(numbers, keepdim);
  if (!to_real) shape.Append(2);
  return {{input.dtype, shape}};
}

/// As Run. With `joined`, the dimension of the parts counts as one that is reduced.
template <class Fill>
void RunOfPairs(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, bool keepdim,
                bool to_real, bool joined, Out output, const Fill& fill) {
  const FpEnvGuard guard;
  CheckOutputs(op, InferOfPairs(op, input, dim, keepdim, to_real), {&output}, input);
  const Place place = PlaceOf(op, input);
  if (output.numel() == 0) return;
  ReducedDims dims({op, "dim"}, PartsOf(input, 0), dim);
  dims.reduced[input.rank() - 1] = joined;
  fill(place, dims.reduced, dims.count);
}

void RunVarOfPairs(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, double correction,
                   bool keepdim, bool root, Order order, Out output) {
  RunOfPairs(op, input, dim, keepdim, /*to_real=*/true, /*joined=*/false, output,
             [&](const Place& place, const Reduced& is_reduced, int64_t n) {
               OpScratch scratch(place);
               const TensorView real = scratch.New(input.dtype, output.shape);
               const TensorView imaginary = scratch.New(input.dtype, output.shape);
               VarInto(place, real, PartsOf(input, 0), is_reduced, n, correction, /*root=*/false, order);
               VarInto(place, imaginary, PartsOf(input, 1), is_reduced, n, correction, /*root=*/false, order);
               const TensorView sum = root ? scratch.New(input.dtype, output.shape) : output;
               AxpyKernel(place, {Axpy::kAdd, MakeMapArgs({&real, &imaginary}, sum), 1});
               if (root) SqrtKernel(place, MakeMapArgs({&sum}, output));
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
  Run("norm", input, dim, keepdim, output, [&](const Place& place, const Reduced& is_reduced, int64_t) {
    NormInto(place, output, input, is_reduced, order);
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

Specs InferComplexSum(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order) {
  return InferOfPairs("complex_sum", input, dim, keepdim, /*to_real=*/false);
}
void ComplexSum(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output) {
  RunOfPairs("complex_sum", input, dim, keepdim, /*to_real=*/false, /*joined=*/false, output,
             [&](const Place& place, const Reduced& is_reduced, int64_t) {
               SumInto(place, output, input, is_reduced, order, {});
             });
}

Specs InferComplexMean(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order) {
  return InferOfPairs("complex_mean", input, dim, keepdim, /*to_real=*/false);
}
void ComplexMean(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output) {
  RunOfPairs("complex_mean", input, dim, keepdim, /*to_real=*/false, /*joined=*/false, output,
             [&](const Place& place, const Reduced& is_reduced, int64_t n) {
               SumInto(place, output, input, is_reduced, order, {.divisor = static_cast<double>(n)});
             });
}

Specs InferComplexNorm(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order) {
  return InferOfPairs("complex_norm", input, dim, keepdim, /*to_real=*/true);
}
void ComplexNorm(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output) {
  RunOfPairs("complex_norm", input, dim, keepdim, /*to_real=*/true, /*joined=*/true, output,
             [&](const Place& place, const Reduced& is_reduced, int64_t) {
               NormInto(place, output, input, is_reduced, order);
             });
}

Specs InferComplexVar(const TensorView& input, const std::optional<IntList>& dim, double, bool keepdim, Order) {
  return InferOfPairs("complex_var", input, dim, keepdim, /*to_real=*/true);
}
void ComplexVar(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim,
                Order order, Out output) {
  RunVarOfPairs("complex_var", input, dim, correction, keepdim, /*root=*/false, order, output);
}
Specs InferComplexStd(const TensorView& input, const std::optional<IntList>& dim, double, bool keepdim, Order) {
  return InferOfPairs("complex_std", input, dim, keepdim, /*to_real=*/true);
}
void ComplexStd(const TensorView& input, const std::optional<IntList>& dim, double correction, bool keepdim,
                Order order, Out output) {
  RunVarOfPairs("complex_std", input, dim, correction, keepdim, /*root=*/true, order, output);
}

}  // namespace repdl

REPDL_OPS(
    sum,
    MakeOp<InferSum, Sum, SumKernel, ConvertKernel>("sum",
                                                    "input, dim=None, keepdim=False, average=False, order='blocked'",
                                                    kUpToFloat64),
    MakeOp<InferMean, Mean, SumKernel, ConvertKernel>("mean", "input, dim=None, keepdim=False, order='blocked'",
                                                      kUpToFloat64),
    MakeOp<InferNorm, Norm, SumKernel, NormKernel, SquareKernel>("norm",
                                                                 "input, dim=None, keepdim=False, order='blocked'",
                                                                 kFloat32Or64),
    MakeOp<InferVar, Var, SumKernel, SquaredDistanceKernel>(
        "var", "input, dim=None, correction=1, keepdim=False, order='blocked'", kFloat32Or64),
    MakeOp<InferStd, Std, SumKernel, SquaredDistanceKernel>(
        "std", "input, dim=None, correction=1, keepdim=False, order='blocked'", kFloat32Or64),
    MakeOp<InferComplexSum, ComplexSum, SumKernel>("complex_sum", "input, dim=None, keepdim=False, order='blocked'",
                                                   kFloat32Or64),
    MakeOp<InferComplexMean, ComplexMean, SumKernel>("complex_mean", "input, dim=None, keepdim=False, order='blocked'",
                                                     kFloat32Or64),
    MakeOp<InferComplexNorm, ComplexNorm, SumKernel, NormKernel, SquareKernel>(
        "complex_norm", "input, dim=None, keepdim=False, order='blocked'", kFloat32Or64),
    MakeOp<InferComplexVar, ComplexVar, SumKernel, SquaredDistanceKernel, AxpyKernel>(
        "complex_var", "input, dim=None, correction=1, keepdim=False, order='blocked'", kFloat32Or64),
    MakeOp<InferComplexStd, ComplexStd, SumKernel, SquaredDistanceKernel, AxpyKernel, SqrtKernel>(
        "complex_std", "input, dim=None, correction=1, keepdim=False, order='blocked'", kFloat32Or64))
