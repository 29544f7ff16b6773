// SPDX-License-Identifier: MIT
#include "repdl/ops/eig.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/eig/eig_kernel.h"

namespace repdl {
namespace {

void Run(const Place& place, const TensorView& input, void* values, void* vectors, Out& info) {
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  EigKernel(place, {BatchOf(input.shape), input.shape[input.rank() - 1], MatricesOf(input, scratch), values, vectors,
                    info.Data<int64_t>()});
}

}  // namespace

Specs InferEig(const TensorView& input) {
  const ArgName name{"eig", "input"};
  CheckFloat(name, input, input);
  CheckSquare(name, input);
  CheckRank(name, input, 2, kMaxRank - 1, "(…, n, n)");  // the vectors have a dimension more
  const int64_t n = input.shape[input.rank() - 1];
  return {{input.dtype, BatchAnd(input.shape, {n, 2})},
          {input.dtype, BatchAnd(input.shape, {n, n, 2})},
          {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Eig(const TensorView& input, Out values, Out vectors, Out info) {
  const FpEnvGuard guard;
  CheckOutputs("eig", InferEig(input), {&values, &vectors, &info}, input);
  const Place place = PlaceOf("eig", input);
  Run(place, input, values.data, vectors.data, info);
}

Specs InferEigvals(const TensorView& input) {
  const ArgName name{"eigvals", "input"};
  CheckFloat(name, input, input);
  CheckSquare(name, input);
  return {{input.dtype, BatchAnd(input.shape, {input.shape[input.rank() - 1], 2})},
          {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Eigvals(const TensorView& input, Out values, Out info) {
  const FpEnvGuard guard;
  CheckOutputs("eigvals", InferEigvals(input), {&values, &info}, input);
  const Place place = PlaceOf("eigvals", input);
  Run(place, input, values.data, nullptr, info);
}

}  // namespace repdl

REPDL_OPS(eig, MakeOp<InferEig, Eig, EigKernel>("eig", "input", kFloat32Or64),
          MakeOp<InferEigvals, Eigvals, EigKernel>("eigvals", "input", kFloat32Or64))
