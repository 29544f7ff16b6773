// SPDX-License-Identifier: MIT
#include "repdl/ops/eigh.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/eigh/eigh_kernel.h"

namespace repdl {
namespace {

void Run(const Place& place, const TensorView& input, bool upper, Out& values, void* vectors, Out& info) {
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  const Matrices matrices = MatricesOf(input, scratch);
  EighKernel(place, {BatchOf(input.shape), input.shape[input.rank() - 1], upper ? matrices.Transposed() : matrices,
                     values.data, vectors, info.Data<int64_t>()});
}

}  // namespace

Specs InferEigh(const TensorView& input, bool /*upper*/) {
  const ArgName name{"eigh", "input"};
  CheckFloat(name, input, input);
  CheckSquare(name, input);
  return {{input.dtype, BatchAnd(input.shape, {input.shape[input.rank() - 1]})},
          {input.dtype, input.shape},
          {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Eigh(const TensorView& input, bool upper, Out values, Out vectors, Out info) {
  const FpEnvGuard guard;
  CheckOutputs("eigh", InferEigh(input, upper), {&values, &vectors, &info}, input);
  const Place place = PlaceOf("eigh", input);
  Run(place, input, upper, values, vectors.data, info);
}

Specs InferEigvalsh(const TensorView& input, bool /*upper*/) {
  const ArgName name{"eigvalsh", "input"};
  CheckFloat(name, input, input);
  CheckSquare(name, input);
  return {{input.dtype, BatchAnd(input.shape, {input.shape[input.rank() - 1]})},
          {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Eigvalsh(const TensorView& input, bool upper, Out values, Out info) {
  const FpEnvGuard guard;
  CheckOutputs("eigvalsh", InferEigvalsh(input, upper), {&values, &info}, input);
  const Place place = PlaceOf("eigvalsh", input);
  Run(place, input, upper, values, nullptr, info);
}

}  // namespace repdl

REPDL_OPS(eigh, MakeOp<InferEigh, Eigh, EighKernel>("eigh", "input, upper=False", kFloat32Or64),
          MakeOp<InferEigvalsh, Eigvalsh, EighKernel>("eigvalsh", "input, upper=False", kFloat32Or64))
