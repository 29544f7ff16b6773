// SPDX-License-Identifier: MIT
#include "repdl/ops/sum.h"

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

}  // namespace repdl

REPDL_OPS(sum, MakeOp<InferSum, Sum>("sum", "input, dim=None, keepdim=False, average=False, order='blocked'"),
          MakeOp<InferMean, Mean>("mean", "input, dim=None, keepdim=False, order='blocked'"))
