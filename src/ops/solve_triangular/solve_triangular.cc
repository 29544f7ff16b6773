// SPDX-License-Identifier: MIT
#include "repdl/ops/solve_triangular.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/solve_triangular/solve_triangular_kernel.h"

namespace repdl {
namespace {

Specs Infer(const NumberForm& form, std::string_view input_name, const TensorView& input, const TensorView& rows) {
  const TensorView a = form.Numbers(input_name, input, input), b = form.Numbers("rows", rows, input);
  const ArgName name = form.Arg(input_name);
  CheckSquare(name, a);
  CheckRows(form.Arg("rows"), b, name, a);
  return {{input.dtype, rows.shape}};
}

void Run(const NumberForm& form, std::string_view input_name, const TensorView& input, const TensorView& rows,
         bool upper, bool unit, bool by_adjoint, Out& output) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, Infer(form, input_name, input, rows), {&output}, input);
  const Place place = PlaceOf(form.op, input);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  const IntList shape = form.Numbers("rows", rows, input).shape;
  SolveTriangularKernel(
      place, {BatchOf(shape), shape[shape.size() - 2], shape[shape.size() - 1], MatricesOf(input, scratch, form.pairs),
              MatricesOf(rows, scratch, form.pairs), upper, unit, by_adjoint, form.pairs, output.data});
}

constexpr NumberForm kSolveTriangular{"solve_triangular", false},
    kComplexSolveTriangular{"complex_solve_triangular", true};
constexpr NumberForm kCholeskySolve{"cholesky_solve", false}, kComplexCholeskySolve{"complex_cholesky_solve", true};

}  // namespace

Specs InferSolveTriangular(const TensorView& input, const TensorView& rows, bool /*upper*/, bool /*unitriangular*/) {
  return Infer(kSolveTriangular, "input", input, rows);
}
void SolveTriangular(const TensorView& input, const TensorView& rows, bool upper, bool unitriangular, Out output) {
  Run(kSolveTriangular, "input", input, rows, upper, unitriangular, false, output);
}

Specs InferComplexSolveTriangular(const TensorView& input, const TensorView& rows, bool /*upper*/,
                                  bool /*unitriangular*/) {
  return Infer(kComplexSolveTriangular, "input", input, rows);
}
void ComplexSolveTriangular(const TensorView& input, const TensorView& rows, bool upper, bool unitriangular,
                            Out output) {
  Run(kComplexSolveTriangular, "input", input, rows, upper, unitriangular, false, output);
}

Specs InferCholeskySolve(const TensorView& factor, const TensorView& rows) {
  return Infer(kCholeskySolve, "factor", factor, rows);
}
void CholeskySolve(const TensorView& factor, const TensorView& rows, Out output) {
  Run(kCholeskySolve, "factor", factor, rows, false, false, true, output);
}

Specs InferComplexCholeskySolve(const TensorView& factor, const TensorView& rows) {
  return Infer(kComplexCholeskySolve, "factor", factor, rows);
}
void ComplexCholeskySolve(const TensorView& factor, const TensorView& rows, Out output) {
  Run(kComplexCholeskySolve, "factor", factor, rows, false, false, true, output);
}

}  // namespace repdl

REPDL_OPS(solve_triangular,
          MakeOp<InferCholeskySolve, CholeskySolve, SolveTriangularKernel>("cholesky_solve", "factor, rows",
                                                                           kFloat32Or64),
          MakeOp<InferComplexCholeskySolve, ComplexCholeskySolve, SolveTriangularKernel>("complex_cholesky_solve",
                                                                                         "factor, rows", kFloat32Or64),
          MakeOp<InferComplexSolveTriangular, ComplexSolveTriangular, SolveTriangularKernel>(
              "complex_solve_triangular", "input, rows, upper=False, unitriangular=False", kFloat32Or64),
          MakeOp<InferSolveTriangular, SolveTriangular, SolveTriangularKernel>(
              "solve_triangular", "input, rows, upper=False, unitriangular=False", kFloat32Or64))
