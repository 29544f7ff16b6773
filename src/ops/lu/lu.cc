// SPDX-License-Identifier: MIT
#include "repdl/ops/lu.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/contiguous.h"
#include "ops/lu/lu_kernel.h"

namespace repdl {
namespace {

LuArgs ArgsFor(const NumberForm& form, const TensorView& input, OpScratch& scratch) {
  LuArgs args{};
  const TensorView numbers = form.Numbers("input", input, input);
  args.batch = BatchOf(numbers.shape);
  args.m = numbers.shape[numbers.rank() - 2], args.n = numbers.shape[numbers.rank() - 1];
  args.input = MatricesOf(input, scratch, form.pairs);
  args.rows.dtype = input.dtype;
  args.pivot = true;
  args.pairs = form.pairs;
  return args;
}

void SetRows(const NumberForm& form, const TensorView& rows, OpScratch& scratch, LuArgs& args) {
  args.rows = MatricesOf(rows, scratch, form.pairs);
  const TensorView numbers = form.Numbers("rows", rows, rows);
  args.num_rows = numbers.shape[numbers.rank() - 2];
}

Specs InferLuOf(const NumberForm& form, const TensorView& input) {
  const TensorView a = form.Numbers("input", input, input);
  CheckRank(form.Arg("input"), a, 2, kMaxRank, "(…, m, n)");
  const int64_t m = a.shape[a.rank() - 2], n = a.shape[a.rank() - 1];
  return {form.Spec(input.dtype, BatchAnd(a.shape, {n, m})),
          {DType::kInt64, BatchAnd(a.shape, {std::min(m, n)})},
          {DType::kInt64, BatchAnd(a.shape, {})}};
}

void RunLu(const NumberForm& form, const TensorView& input, bool pivot, Out& factors, Out& pivots, Out& info) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferLuOf(form, input), {&factors, &pivots, &info}, input);
  const Place place = PlaceOf(form.op, input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  LuArgs args = ArgsFor(form, input, scratch);
  args.pivot = pivot;
  args.factors = factors.data, args.pivots = pivots.Data<int64_t>(), args.info = info.Data<int64_t>();
  LuKernel(place, args);
}

void RunLuSolve(const NumberForm& form, const TensorView& factors, const TensorView& pivots, const TensorView& rows,
                bool adjoint, Out& output) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferSolveByPivots(form, factors, pivots, rows), {&output}, factors);
  const Place place = PlaceOf(form.op, factors);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  LuArgs args = ArgsFor(form, factors, scratch);
  args.is_factored = true, args.adjoint = adjoint;
  args.pivots = Contiguous(pivots, scratch).Data<int64_t>();
  for (int64_t i = 0; place.IsCpu() && i < pivots.numel(); ++i) {
    REPDL_CHECK(args.pivots[i] >= 0 && args.pivots[i] <= args.n, form.Arg("pivots"), " holds ", args.pivots[i],
                ", which is neither one of the rows 1 to ", args.n, " nor 0; give what lu returned");
  }
  SetRows(form, rows, scratch, args);
  args.output = output.data;
  LuKernel(place, args);
}

Specs InferSolveOf(const NumberForm& form, const TensorView& input, const TensorView& rows) {
  const TensorView a = form.Numbers("input", input, input), b = form.Numbers("rows", rows, input);
  const ArgName name = form.Arg("input");
  CheckSquare(name, a);
  CheckRows(form.Arg("rows"), b, name, a);
  return {{rows.dtype, rows.shape},
          {input.dtype, input.shape},
          {DType::kInt64, BatchAnd(a.shape, {a.shape[a.rank() - 1]})},
          {DType::kInt64, BatchAnd(a.shape, {})}};
}

void RunSolve(const NumberForm& form, const TensorView& input, const TensorView& rows, Out& output, Out& factors,
              Out& pivots, Out& info) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferSolveOf(form, input, rows), {&output, &factors, &pivots, &info}, input);
  const Place place = PlaceOf(form.op, input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  LuArgs args = ArgsFor(form, input, scratch);
  SetRows(form, rows, scratch, args);
  args.factors = factors.data, args.pivots = pivots.Data<int64_t>(), args.info = info.Data<int64_t>();
  args.output = output.data;
  LuKernel(place, args);
}

Specs InferInvOf(const NumberForm& form, const TensorView& input) {
  const TensorView a = form.Numbers("input", input, input);
  CheckSquare(form.Arg("input"), a);
  return {{input.dtype, input.shape}, {DType::kInt64, BatchAnd(a.shape, {})}};
}

void RunInv(const NumberForm& form, const TensorView& input, Out& output, Out& info) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferInvOf(form, input), {&output, &info}, input);
  const Place place = PlaceOf(form.op, input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  LuArgs args = ArgsFor(form, input, scratch);
  args.num_rows = args.n;
  args.info = info.Data<int64_t>();
  args.output = output.data;
  LuKernel(place, args);
}

/// Of the determinant and the sign of the exchanges, or of the sign and the logarithm.
Specs InferDeterminant(const NumberForm& form, const TensorView& input) {
  const TensorView a = form.Numbers("input", input, input);
  CheckSquare(form.Arg("input"), a);
  const IntList batch = BatchAnd(a.shape, {});
  return {form.Spec(input.dtype, batch),
          {input.dtype, batch},
          {input.dtype, input.shape},
          {DType::kInt64, BatchAnd(a.shape, {a.shape[a.rank() - 1]})}};
}

void Determinant(const NumberForm& form, const TensorView& input, bool logarithm, Out& first, Out& second, Out& factors,
                 Out& pivots) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferDeterminant(form, input), {&first, &second, &factors, &pivots}, input);
  const Place place = PlaceOf(form.op, input);
  if (second.numel() == 0) return;
  OpScratch scratch(place);
  LuArgs args = ArgsFor(form, input, scratch);
  args.factors = factors.data, args.pivots = pivots.Data<int64_t>();
  if (logarithm) {
    args.sign = first.data, args.logabsdet = second.data;
  } else {
    args.det = first.data, args.sign = second.data;
  }
  LuKernel(place, args);
}

}  // namespace

Specs InferLu(const TensorView& input, bool /*pivot*/) { return InferLuOf(NumberForm{"lu", false}, input); }
void Lu(const TensorView& input, bool pivot, Out factors, Out pivots, Out info) {
  RunLu(NumberForm{"lu", false}, input, pivot, factors, pivots, info);
}

Specs InferComplexLu(const TensorView& input, bool /*pivot*/) {
  return InferLuOf(NumberForm{"complex_lu", true}, input);
}
void ComplexLu(const TensorView& input, bool pivot, Out factors, Out pivots, Out info) {
  RunLu(NumberForm{"complex_lu", true}, input, pivot, factors, pivots, info);
}

Specs InferLuSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool /*adjoint*/) {
  return InferSolveByPivots(NumberForm{"lu_solve", false}, factors, pivots, rows);
}
void LuSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool adjoint, Out output) {
  RunLuSolve(NumberForm{"lu_solve", false}, factors, pivots, rows, adjoint, output);
}

Specs InferComplexLuSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows,
                          bool /*transposed*/) {
  return InferSolveByPivots(NumberForm{"complex_lu_solve", true}, factors, pivots, rows);
}
void ComplexLuSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool transposed,
                    Out output) {
  RunLuSolve(NumberForm{"complex_lu_solve", true}, factors, pivots, rows, transposed, output);
}

Specs InferSolve(const TensorView& input, const TensorView& rows) {
  return InferSolveOf(NumberForm{"solve", false}, input, rows);
}
void Solve(const TensorView& input, const TensorView& rows, Out output, Out factors, Out pivots, Out info) {
  RunSolve(NumberForm{"solve", false}, input, rows, output, factors, pivots, info);
}

Specs InferComplexSolve(const TensorView& input, const TensorView& rows) {
  return InferSolveOf(NumberForm{"complex_solve", true}, input, rows);
}
void ComplexSolve(const TensorView& input, const TensorView& rows, Out output, Out factors, Out pivots, Out info) {
  RunSolve(NumberForm{"complex_solve", true}, input, rows, output, factors, pivots, info);
}

Specs InferInv(const TensorView& input) { return InferInvOf(NumberForm{"inv", false}, input); }
void Inv(const TensorView& input, Out output, Out info) { RunInv(NumberForm{"inv", false}, input, output, info); }

Specs InferComplexInv(const TensorView& input) { return InferInvOf(NumberForm{"complex_inv", true}, input); }
void ComplexInv(const TensorView& input, Out output, Out info) {
  RunInv(NumberForm{"complex_inv", true}, input, output, info);
}

Specs InferDet(const TensorView& input) { return InferDeterminant(NumberForm{"det", false}, input); }
void Det(const TensorView& input, Out output, Out sign, Out factors, Out pivots) {
  Determinant(NumberForm{"det", false}, input, false, output, sign, factors, pivots);
}

Specs InferComplexDet(const TensorView& input) { return InferDeterminant(NumberForm{"complex_det", true}, input); }
void ComplexDet(const TensorView& input, Out output, Out sign, Out factors, Out pivots) {
  Determinant(NumberForm{"complex_det", true}, input, false, output, sign, factors, pivots);
}

Specs InferSlogdet(const TensorView& input) { return InferDeterminant(NumberForm{"slogdet", false}, input); }
void Slogdet(const TensorView& input, Out sign, Out logabsdet, Out factors, Out pivots) {
  Determinant(NumberForm{"slogdet", false}, input, true, sign, logabsdet, factors, pivots);
}

Specs InferComplexSlogdet(const TensorView& input) {
  return InferDeterminant(NumberForm{"complex_slogdet", true}, input);
}
void ComplexSlogdet(const TensorView& input, Out sign, Out logabsdet, Out factors, Out pivots) {
  Determinant(NumberForm{"complex_slogdet", true}, input, true, sign, logabsdet, factors, pivots);
}

}  // namespace repdl

REPDL_OPS(lu, MakeOp<InferComplexDet, ComplexDet, LuKernel>("complex_det", "input", kFloat32Or64),
          MakeOp<InferComplexInv, ComplexInv, LuKernel>("complex_inv", "input", kFloat32Or64),
          MakeOp<InferComplexLu, ComplexLu, LuKernel>("complex_lu", "input, pivot=True", kFloat32Or64),
          MakeOp<InferComplexLuSolve, ComplexLuSolve, LuKernel>("complex_lu_solve",
                                                                "factors, pivots, rows, transposed=False",
                                                                kFloat32Or64),
          MakeOp<InferComplexSlogdet, ComplexSlogdet, LuKernel>("complex_slogdet", "input", kFloat32Or64),
          MakeOp<InferComplexSolve, ComplexSolve, LuKernel>("complex_solve", "input, rows", kFloat32Or64),
          MakeOp<InferDet, Det, LuKernel>("det", "input", kFloat32Or64),
          MakeOp<InferLu, Lu, LuKernel>("lu", "input, pivot=True", kFloat32Or64),
          MakeOp<InferLuSolve, LuSolve, LuKernel>("lu_solve", "factors, pivots, rows, adjoint=False", kFloat32Or64),
          MakeOp<InferSolve, Solve, LuKernel>("solve", "input, rows", kFloat32Or64),
          MakeOp<InferInv, Inv, LuKernel>("inv", "input", kFloat32Or64),
          MakeOp<InferSlogdet, Slogdet, LuKernel>("slogdet", "input", kFloat32Or64))
