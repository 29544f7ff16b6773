// SPDX-License-Identifier: MIT
#include "repdl/ops/svd.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/svd/svd_kernel.h"

namespace repdl {
namespace {

void Run(const Place& place, const TensorView& input, bool full, void* u, Out& s, void* vh, Out& info) {
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  SvdKernel(place, {BatchOf(input.shape), input.shape[input.rank() - 2], input.shape[input.rank() - 1],
                    MatricesOf(input, scratch), full, u, s.data, vh, info.Data<int64_t>()});
}

}  // namespace

Specs InferSvd(const TensorView& input, bool full) {
  const ArgName name{"svd", "input"};
  CheckFloat(name, input, input);
  CheckRank(name, input, 2, kMaxRank, "(…, m, n)");
  const int64_t m = input.shape[input.rank() - 2], n = input.shape[input.rank() - 1], k = std::min(m, n);
  return {{input.dtype, BatchAnd(input.shape, {full ? m : k, m})},
          {input.dtype, BatchAnd(input.shape, {k})},
          {input.dtype, BatchAnd(input.shape, {n, full ? n : k})},
          {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Svd(const TensorView& input, bool full, Out u, Out s, Out vh, Out info) {
  const FpEnvGuard guard;
  CheckOutputs("svd", InferSvd(input, full), {&u, &s, &vh, &info}, input);
  const Place place = PlaceOf("svd", input);
  Run(place, input, full, u.data, s, vh.data, info);
}

Specs InferSvdvals(const TensorView& input) {
  const ArgName name{"svdvals", "input"};
  CheckFloat(name, input, input);
  CheckRank(name, input, 2, kMaxRank, "(…, m, n)");
  return {
      {input.dtype, BatchAnd(input.shape, {std::min(input.shape[input.rank() - 2], input.shape[input.rank() - 1])})},
      {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Svdvals(const TensorView& input, Out s, Out info) {
  const FpEnvGuard guard;
  CheckOutputs("svdvals", InferSvdvals(input), {&s, &info}, input);
  const Place place = PlaceOf("svdvals", input);
  Run(place, input, false, nullptr, s, nullptr, info);
}

}  // namespace repdl

REPDL_OPS(svd, MakeOp<InferSvd, Svd, SvdKernel>("svd", "input, full=False", kFloat32Or64),
          MakeOp<InferSvdvals, Svdvals, SvdKernel>("svdvals", "input", kFloat32Or64))
