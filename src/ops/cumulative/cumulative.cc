// SPDX-License-Identifier: MIT
#include "repdl/ops/cumulative.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "base/pairs.h"
#include "drivers/contiguous.h"
#include "ops/cumulative/cumulative_kernel.h"

namespace repdl {
namespace {

Specs Infer(std::string_view op, const TensorView& input, int64_t dim) {
  CheckFloat({op, "input"}, input, input);
  CheckDim({op, "dim"}, dim, std::max(input.rank(), 1));
  return {{input.dtype, input.shape}};
}

/// Of pairs; `dim` counts their dimensions but for the last.
Specs InferOfPairs(std::string_view op, const TensorView& input, int64_t dim) {
  CheckPairs({op, "input"}, input, input);
  CheckDim({op, "dim"}, dim, std::max(input.rank() - 1, 1));
  return {{input.dtype, input.shape}};
}

/// Along `dim` of the first `rank` dimensions of the input.
void Run(std::string_view op, const Specs& specs, Cumulative kind, const TensorView& input, int rank, int64_t dim,
         const TensorView& output) {
  CheckOutputs(op, specs, {&output}, input);
  const Place place = PlaceOf(op, input);
  if (output.numel() == 0) return;
  const int at = CheckDim({op, "dim"}, dim, std::max(rank, 1));
  int64_t outer = 1, n = 1, inner = 1;
  for (int i = 0; i < rank; ++i) (i < at ? outer : i == at ? n : inner) *= input.shape[i];
  if (rank < input.rank() && kind == Cumulative::kSum) inner *= 2;  // no sum of parts meets another
  OpScratch scratch(place);
  const TensorView x = Contiguous(input, scratch);
  DispatchReal(input.dtype, [&]<class T>() {
    CumulativeKernel(place, CumulativeArgs<T>{kind, outer, n, inner, x.Data<const T>(), output.Data<T>()});
  });
}

void Run(std::string_view op, Cumulative kind, const TensorView& input, int64_t dim, const TensorView& output) {
  const FpEnvGuard guard;
  Run(op, Infer(op, input, dim), kind, input, input.rank(), dim, output);
}

void RunOfPairs(std::string_view op, Cumulative kind, const TensorView& input, int64_t dim, const TensorView& output) {
  const FpEnvGuard guard;
  Run(op, InferOfPairs(op, input, dim), kind, input, input.rank() - 1, dim, output);
}

}  // namespace

Specs InferCumsum(const TensorView& input, int64_t dim) { return Infer("cumsum", input, dim); }
void Cumsum(const TensorView& input, int64_t dim, Out output) { Run("cumsum", Cumulative::kSum, input, dim, output); }

Specs InferCumprod(const TensorView& input, int64_t dim) { return Infer("cumprod", input, dim); }
void Cumprod(const TensorView& input, int64_t dim, Out output) {
  Run("cumprod", Cumulative::kProduct, input, dim, output);
}

Specs InferLogcumsumexp(const TensorView& input, int64_t dim) { return Infer("logcumsumexp", input, dim); }
void Logcumsumexp(const TensorView& input, int64_t dim, Out output) {
  Run("logcumsumexp", Cumulative::kLogSumExp, input, dim, output);
}

Specs InferComplexCumsum(const TensorView& input, int64_t dim) { return InferOfPairs("complex_cumsum", input, dim); }
void ComplexCumsum(const TensorView& input, int64_t dim, Out output) {
  RunOfPairs("complex_cumsum", Cumulative::kSum, input, dim, output);
}

Specs InferComplexCumprod(const TensorView& input, int64_t dim) { return InferOfPairs("complex_cumprod", input, dim); }
void ComplexCumprod(const TensorView& input, int64_t dim, Out output) {
  RunOfPairs("complex_cumprod", Cumulative::kComplexProduct, input, dim, output);
}

Specs InferComplexLogcumsumexp(const TensorView& input, int64_t dim) {
  return InferOfPairs("complex_logcumsumexp", input, dim);
}
void ComplexLogcumsumexp(const TensorView& input, int64_t dim, Out output) {
  RunOfPairs("complex_logcumsumexp", Cumulative::kComplexLogSumExp, input, dim, output);
}

}  // namespace repdl

REPDL_OPS(cumulative, MakeOp<InferCumsum, Cumsum, CumulativeKernel>("cumsum", "input, dim", kFloat32Or64),
          MakeOp<InferCumprod, Cumprod, CumulativeKernel>("cumprod", "input, dim", kFloat32Or64),
          MakeOp<InferLogcumsumexp, Logcumsumexp, CumulativeKernel>("logcumsumexp", "input, dim", kFloat32Or64),
          MakeOp<InferComplexCumsum, ComplexCumsum, CumulativeKernel>("complex_cumsum", "input, dim", kFloat32Or64),
          MakeOp<InferComplexCumprod, ComplexCumprod, CumulativeKernel>("complex_cumprod", "input, dim", kFloat32Or64),
          MakeOp<InferComplexLogcumsumexp, ComplexLogcumsumexp, CumulativeKernel>("complex_logcumsumexp", "input, dim",
                                                                                  kFloat32Or64))
