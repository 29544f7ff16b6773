// SPDX-License-Identifier: MIT
#include "repdl/ops/solve_triangular.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/solve_triangular/solve_triangular_kernel.h"

namespace repdl {

Specs InferSolveTriangular(const TensorView& input, const TensorView& rows, bool /*upper*/, bool /*unitriangular*/) {
  const ArgName name{"solve_triangular", "input"}, name_rows{"solve_triangular", "rows"};
  CheckFloat(name, input, input);
  CheckFloat(name_rows, rows, input);
  CheckSquare(name, input);
  CheckRows(name_rows, rows, name, input);
  return {{input.dtype, rows.shape}};
}

void SolveTriangular(const TensorView& input, const TensorView& rows, bool upper, bool unitriangular, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("solve_triangular", InferSolveTriangular(input, rows, upper, unitriangular), {&output}, input);
  CheckCpu("solve_triangular", input);
  if (output.numel() == 0) return;
  Scratch scratch;
  SolveTriangularKernel({BatchOf(rows.shape), rows.shape[rows.rank() - 2], rows.shape[rows.rank() - 1],
                         MatricesOf(input, scratch), MatricesOf(rows, scratch), upper, unitriangular, output.data});
}

}  // namespace repdl

REPDL_OPS(solve_triangular,
          MakeOp<InferSolveTriangular, SolveTriangular>("solve_triangular",
                                                        "input, rows, upper=False, unitriangular=False", kFloat32Or64))
