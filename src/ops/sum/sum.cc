// SPDX-License-Identifier: MIT
#include "repdl/ops/sum.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/sum/sum_kernel.h"

namespace repdl {
namespace {

/// Marks the reduced dimensions and returns the number of terms.
int64_t MarkReduced(std::string_view op, const TensorView& input, const std::optional<IntList>& dim,
                    bool (&is_reduced)[kMaxRank]) {
  const bool all = !dim || dim->size() == 0;
  std::fill(std::begin(is_reduced), std::end(is_reduced), all);
  if (!all) {
    for (int64_t d : *dim) {
      const int at = CheckDim({op, "dim"}, d, std::max(input.rank(), 1));
      REPDL_CHECK(!is_reduced[at], ArgName{op, "dim"}, " ", Name(*dim), " names dimension ", at, " twice");
      is_reduced[at] = true;
    }
  }
  int64_t n = 1;
  for (int i = 0; i < input.rank(); ++i) n *= is_reduced[i] ? input.shape[i] : 1;
  return n;
}

Specs Infer(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, bool keepdim) {
  CheckFloat({op, "input"}, input, input);
  bool is_reduced[kMaxRank];
  MarkReduced(op, input, dim, is_reduced);
  IntList shape;
  for (int i = 0; i < input.rank(); ++i) {
    if (!is_reduced[i]) {
      shape.Append(input.shape[i]);
    } else if (keepdim) {
      shape.Append(1);
    }
  }
  return {{DType::kFloat32, shape}};
}

void Run(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, bool keepdim, bool average,
         bool divide, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs(op, Infer(op, input, dim, keepdim), {&output}, input);
  CheckCpu(op, input);
  if (output.numel() == 0) return;
  bool is_reduced[kMaxRank];
  const int64_t n = MarkReduced(op, input, dim, is_reduced);
  ReduceArgs args = MakeReduceArgs(input, is_reduced, order);
  if (average) args.end.factor = static_cast<float>(1.0 / static_cast<double>(n));
  if (divide) args.end.divisor = static_cast<float>(n);
  args.out = output.Data<float>();
  SumKernel(args);
}

/// The squares of the numbers, or of their distances from `centre`, which broadcasts.
TensorView Squares(const TensorView& input, const TensorView* centre, Scratch& scratch) {
  const TensorView squares = MakeView(scratch.Get<float>(input.numel()), input.shape);
  if (squares.numel() == 0) return squares;
  SquareKernel(centre == nullptr ? MakeMapArgs({&input}, squares) : MakeMapArgs({&input, centre}, squares));
  return squares;
}

void RunVar(std::string_view op, const TensorView& input, const std::optional<IntList>& dim, double correction,
            bool keepdim, bool root, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs(op, Infer(op, input, dim, keepdim), {&output}, input);
  CheckCpu(op, input);
  if (output.numel() == 0) return;
  bool is_reduced[kMaxRank];
  const int64_t n = MarkReduced(op, input, dim, is_reduced);
  Scratch scratch;
  IntList kept = input.shape;
  for (int i = 0; i < kept.size(); ++i) kept[i] = is_reduced[i] ? 1 : kept[i];
  const TensorView mean = MakeView(scratch.Get<float>(output.numel()), kept);
  ReduceArgs args = MakeReduceArgs(input, is_reduced, order);
  args.end.divisor = static_cast<float>(n);
  args.out = mean.Data<float>();
  SumKernel(args);
  args = MakeReduceArgs(Squares(input, &mean, scratch), is_reduced, order);
  args.end.divisor = static_cast<float>(std::max(static_cast<double>(n) - correction, 0.0));
  args.end.root = root;
  args.out = output.Data<float>();
  SumKernel(args);
}

}  // namespace

Specs InferSum(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, bool, Order) {
  return Infer("sum", input, dim, keepdim);
}
void Sum(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, bool average, Order order,
         Out output) {
  Run("sum", input, dim, keepdim, average, /*divide=*/false, order, output);
}

Specs InferMean(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order) {
  return Infer("mean", input, dim, keepdim);
}
void Mean(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output) {
  Run("mean", input, dim, keepdim, /*average=*/false, /*divide=*/true, order, output);
}

Specs InferNorm(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order) {
  return Infer("norm", input, dim, keepdim);
}
void Norm(const TensorView& input, const std::optional<IntList>& dim, bool keepdim, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("norm", Infer("norm", input, dim, keepdim), {&output}, input);
  CheckCpu("norm", input);
  if (output.numel() == 0) return;
  bool is_reduced[kMaxRank];
  MarkReduced("norm", input, dim, is_reduced);
  Scratch scratch;
  ReduceArgs args = MakeReduceArgs(Squares(input, nullptr, scratch), is_reduced, order);
  args.end.root = true;
  args.out = output.Data<float>();
  SumKernel(args);
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

REPDL_OPS(sum, MakeOp<InferSum, Sum>("sum", "input, dim=None, keepdim=False, average=False, order='blocked'"),
          MakeOp<InferMean, Mean>("mean", "input, dim=None, keepdim=False, order='blocked'"),
          MakeOp<InferNorm, Norm>("norm", "input, dim=None, keepdim=False, order='blocked'"),
          MakeOp<InferVar, Var>("var", "input, dim=None, correction=1, keepdim=False, order='blocked'"),
          MakeOp<InferStd, Std>("std", "input, dim=None, correction=1, keepdim=False, order='blocked'"))
