// SPDX-License-Identifier: MIT
#include "repdl/ops/solve_triangular.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/solve_triangular/solve_triangular_kernel.h"

namespace repdl {

namespace {

Specs Infer(const char* op, const char* input_name, const TensorView& input, const TensorView& rows) {
  const ArgName name{op, input_name}, name_rows{op, "rows"};
  CheckFloat(name, input, input);
  CheckFloat(name_rows, rows, input);
  CheckSquare(name, input);
  CheckRows(name_rows, rows, name, input);
  return {{input.dtype, rows.shape}};
}

void Run(const Place& place, const TensorView& input, const TensorView& rows, bool upper, bool unit, bool by_transpose,
         Out& output) {
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  SolveTriangularKernel(
      place, {BatchOf(rows.shape), rows.shape[rows.rank() - 2], rows.shape[rows.rank() - 1], MatricesOf(input, scratch),
              MatricesOf(rows, scratch), upper, unit, by_transpose, output.data});
}

}  // namespace

Specs InferSolveTriangular(const TensorView& input, const TensorView& rows, bool /*upper*/, bool /*unitriangular*/) {
  return Infer("solve_triangular", "input", input, rows);
}

void SolveTriangular(const TensorView& input, const TensorView& rows, bool upper, bool unitriangular, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("solve_triangular", InferSolveTriangular(input, rows, upper, unitriangular), {&output}, input);
  const Place place = PlaceOf("solve_triangular", input);
  Run(place, input, rows, upper, unitriangular, false, output);
}

Specs InferCholeskySolve(const TensorView& factor, const TensorView& rows) {
  return Infer("cholesky_solve", "factor", factor, rows);
}

void CholeskySolve(const TensorView& factor, const TensorView& rows, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("cholesky_solve", InferCholeskySolve(factor, rows), {&output}, factor);
  const Place place = PlaceOf("cholesky_solve", factor);
  Run(place, factor, rows, false, false, true, output);
}

}  // namespace repdl

REPDL_OPS(solve_triangular,
          MakeOp<InferCholeskySolve, CholeskySolve, SolveTriangularKernel>("cholesky_solve", "factor, rows",
                                                                           kFloat32Or64),
          MakeOp<InferSolveTriangular, SolveTriangular, SolveTriangularKernel>(
              "solve_triangular", "input, rows, upper=False, unitriangular=False", kFloat32Or64))
