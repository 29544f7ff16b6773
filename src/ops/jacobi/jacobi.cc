// SPDX-License-Identifier: MIT
#include "repdl/ops/jacobi.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/jacobi/jacobi_kernel.h"

namespace repdl {

Specs InferJacobi(const TensorView& input, int64_t width, double tolerance) {
  const ArgName name{"jacobi", "input"};
  CheckFloat(name, input, input);
  CheckRank(name, input, 2, kMaxRank, "(…, n, m)");
  const int64_t m = input.shape[input.rank() - 1];
  REPDL_CHECK(width >= 0 && width <= m, ArgName{"jacobi", "width"}, " ", width, " must be between 0 and the ", m,
              " columns of input");
  REPDL_CHECK(tolerance >= 0, ArgName{"jacobi", "tolerance"}, " ", tolerance, " must not be negative");
  return {{input.dtype, input.shape}, {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Jacobi(const TensorView& input, int64_t width, double tolerance, Out output, Out sweeps) {
  const FpEnvGuard guard;
  CheckOutputs("jacobi", InferJacobi(input, width, tolerance), {&output, &sweeps}, input);
  CheckCpu("jacobi", input);
  if (sweeps.numel() == 0) return;
  Scratch scratch;
  JacobiKernel({BatchOf(input.shape), input.shape[input.rank() - 2], input.shape[input.rank() - 1], width, tolerance,
                MatricesOf(input, scratch), output.data, sweeps.Data<int64_t>()});
}

}  // namespace repdl

REPDL_OPS(jacobi, MakeOp<InferJacobi, Jacobi>("jacobi", "input, width, tolerance", kFloat32Or64))
