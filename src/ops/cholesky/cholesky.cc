// SPDX-License-Identifier: MIT
#include "repdl/ops/cholesky.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/cholesky/cholesky_kernel.h"

namespace repdl {

Specs InferCholesky(const TensorView& input) {
  const ArgName name{"cholesky", "input"};
  CheckFloat(name, input, input);
  CheckSquare(name, input);
  return {{input.dtype, input.shape}, {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Cholesky(const TensorView& input, Out output, Out info) {
  const FpEnvGuard guard;
  CheckOutputs("cholesky", InferCholesky(input), {&output, &info}, input);
  const Place place = PlaceOf("cholesky", input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  CholeskyKernel(place, {BatchOf(input.shape), input.shape[input.rank() - 1], MatricesOf(input, scratch), output.data,
                         info.Data<int64_t>()});
}

}  // namespace repdl

REPDL_OPS(cholesky, MakeOp<InferCholesky, Cholesky, CholeskyKernel>("cholesky", "input", kFloat32Or64))
