// SPDX-License-Identifier: MIT
#include "repdl/ops/matrix_exp.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/matrix_exp/matrix_exp_kernel.h"

namespace repdl {

Specs InferMatrixExp(const TensorView& input) {
  const ArgName name{"matrix_exp", "input"};
  CheckFloat(name, input, input);
  CheckSquare(name, input);
  return {{input.dtype, input.shape}};
}

void MatrixExp(const TensorView& input, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("matrix_exp", InferMatrixExp(input), {&output}, input);
  const Place place = PlaceOf("matrix_exp", input);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  MatrixExpKernel(place,
                  {BatchOf(input.shape), input.shape[input.rank() - 1], MatricesOf(input, scratch), output.data});
}

}  // namespace repdl

REPDL_OPS(matrix_exp, MakeOp<InferMatrixExp, MatrixExp, MatrixExpKernel>("matrix_exp", "input", kFloat32Or64))
