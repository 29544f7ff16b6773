// SPDX-License-Identifier: MIT
#include "repdl/ops/ldl.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/contiguous.h"
#include "ops/ldl/ldl_kernel.h"

namespace repdl {
namespace {

constexpr NumberForm kLdl{"ldl", false}, kComplexLdl{"complex_ldl", true};
constexpr NumberForm kLdlSolve{"ldl_solve", false}, kComplexLdlSolve{"complex_ldl_solve", true};

LdlArgs ArgsFor(const NumberForm& form, const TensorView& a, const TensorView& numbers, bool hermitian,
                OpScratch& scratch) {
  LdlArgs args{};
  args.batch = BatchOf(numbers.shape), args.n = numbers.shape[numbers.rank() - 1];
  args.input = MatricesOf(a, scratch, form.pairs);
  args.pairs = form.pairs, args.hermitian = hermitian;
  return args;
}

Specs Infer(const NumberForm& form, const TensorView& input) {
  const TensorView a = form.Numbers("input", input, input);
  CheckSquare(form.Arg("input"), a);
  return {{input.dtype, input.shape},
          {DType::kInt64, BatchAnd(a.shape, {a.shape[a.rank() - 1]})},
          {DType::kInt64, BatchAnd(a.shape, {})}};
}

void Run(const NumberForm& form, const TensorView& input, bool hermitian, Out& factors, Out& pivots, Out& info) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, Infer(form, input), {&factors, &pivots, &info}, input);
  const Place place = PlaceOf(form.op, input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  LdlArgs args = ArgsFor(form, input, form.Numbers("input", input, input), hermitian, scratch);
  args.output = factors.data, args.pivots = pivots.Data<int64_t>(), args.info = info.Data<int64_t>();
  LdlKernel(place, args);
}

void RunSolve(const NumberForm& form, const TensorView& factors, const TensorView& pivots, const TensorView& rows,
              bool hermitian, Out& output) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferSolveByPivots(form, factors, pivots, rows), {&output}, factors);
  const Place place = PlaceOf(form.op, factors);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  LdlArgs args = ArgsFor(form, factors, form.Numbers("factors", factors, factors), hermitian, scratch);
  args.pivots = Contiguous(pivots, scratch).Data<int64_t>();
  for (int64_t i = 0; place.IsCpu() && i < pivots.numel(); ++i) {
    REPDL_CHECK(args.pivots[i] >= 0 && args.pivots[i] <= 2 * args.n, form.Arg("pivots"), " holds ", args.pivots[i],
                ", which is not from 0 to ", 2 * args.n, "; give what ldl returned");
  }
  args.rows = MatricesOf(rows, scratch, form.pairs);
  const TensorView numbers = form.Numbers("rows", rows, rows);
  args.num_rows = numbers.shape[numbers.rank() - 2];
  args.output = output.data;
  LdlKernel(place, args);
}

}  // namespace

Specs InferLdl(const TensorView& input) { return Infer(kLdl, input); }
void Ldl(const TensorView& input, Out factors, Out pivots, Out info) { Run(kLdl, input, false, factors, pivots, info); }

Specs InferLdlSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows) {
  return InferSolveByPivots(kLdlSolve, factors, pivots, rows);
}
void LdlSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, Out output) {
  RunSolve(kLdlSolve, factors, pivots, rows, false, output);
}

Specs InferComplexLdl(const TensorView& input, bool /*hermitian*/) { return Infer(kComplexLdl, input); }
void ComplexLdl(const TensorView& input, bool hermitian, Out factors, Out pivots, Out info) {
  Run(kComplexLdl, input, hermitian, factors, pivots, info);
}

Specs InferComplexLdlSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows,
                           bool /*hermitian*/) {
  return InferSolveByPivots(kComplexLdlSolve, factors, pivots, rows);
}
void ComplexLdlSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool hermitian,
                     Out output) {
  RunSolve(kComplexLdlSolve, factors, pivots, rows, hermitian, output);
}

}  // namespace repdl

REPDL_OPS(ldl, MakeOp<InferComplexLdl, ComplexLdl, LdlKernel>("complex_ldl", "input, hermitian=False", kFloat32Or64),
          MakeOp<InferComplexLdlSolve, ComplexLdlSolve, LdlKernel>("complex_ldl_solve",
                                                                   "factors, pivots, rows, hermitian=False",
                                                                   kFloat32Or64),
          MakeOp<InferLdl, Ldl, LdlKernel>("ldl", "input", kFloat32Or64),
          MakeOp<InferLdlSolve, LdlSolve, LdlKernel>("ldl_solve", "factors, pivots, rows", kFloat32Or64))
