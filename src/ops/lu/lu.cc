// SPDX-License-Identifier: MIT
#include "repdl/ops/lu.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/contiguous.h"
#include "ops/lu/lu_kernel.h"

namespace repdl {
namespace {

LuArgs ArgsFor(const TensorView& input, OpScratch& scratch) {
  LuArgs args{};
  args.batch = BatchOf(input.shape);
  args.m = input.shape[input.rank() - 2], args.n = input.shape[input.rank() - 1];
  args.input = MatricesOf(input, scratch);
  args.rows.dtype = input.dtype;
  args.pivot = true;
  return args;
}

void SetRows(const TensorView& rows, OpScratch& scratch, LuArgs& args) {
  args.rows = MatricesOf(rows, scratch);
  args.num_rows = rows.shape[rows.rank() - 2];
}

Specs InferDeterminant(const char* op, const TensorView& input) {
  const ArgName name{op, "input"};
  CheckFloat(name, input, input);
  CheckSquare(name, input);
  const IntList batch = BatchAnd(input.shape, {});
  return {{input.dtype, batch},
          {input.dtype, batch},
          {input.dtype, input.shape},
          {DType::kInt64, BatchAnd(input.shape, {input.shape[input.rank() - 1]})}};
}

}  // namespace

Specs InferLu(const TensorView& input, bool /*pivot*/) {
  const ArgName name{"lu", "input"};
  CheckFloat(name, input, input);
  CheckRank(name, input, 2, kMaxRank, "(…, m, n)");
  const int64_t m = input.shape[input.rank() - 2], n = input.shape[input.rank() - 1];
  return {{input.dtype, BatchAnd(input.shape, {n, m})},
          {DType::kInt64, BatchAnd(input.shape, {std::min(m, n)})},
          {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Lu(const TensorView& input, bool pivot, Out factors, Out pivots, Out info) {
  const FpEnvGuard guard;
  CheckOutputs("lu", InferLu(input, pivot), {&factors, &pivots, &info}, input);
  const Place place = PlaceOf("lu", input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  LuArgs args = ArgsFor(input, scratch);
  args.pivot = pivot;
  args.factors = factors.data, args.pivots = pivots.Data<int64_t>(), args.info = info.Data<int64_t>();
  LuKernel(place, args);
}

Specs InferLuSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool /*adjoint*/) {
  const ArgName name{"lu_solve", "factors"}, name_rows{"lu_solve", "rows"}, name_pivots{"lu_solve", "pivots"};
  CheckFloat(name, factors, factors);
  CheckFloat(name_rows, rows, factors);
  CheckSquare(name, factors);
  CheckRows(name_rows, rows, name, factors);
  CheckDType(name_pivots, pivots, DType::kInt64);
  CheckSameDevice(name_pivots, pivots, factors);
  CheckShape(name_pivots, pivots, BatchAnd(factors.shape, {factors.shape[factors.rank() - 1]}));
  return {{rows.dtype, rows.shape}};
}

void LuSolve(const TensorView& factors, const TensorView& pivots, const TensorView& rows, bool adjoint, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("lu_solve", InferLuSolve(factors, pivots, rows, adjoint), {&output}, factors);
  const Place place = PlaceOf("lu_solve", factors);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  CheckCpu(place);  // the pivots are read here
  LuArgs args = ArgsFor(factors, scratch);
  args.is_factored = true, args.adjoint = adjoint;
  args.pivots = Contiguous(pivots, scratch).Data<int64_t>();
  for (int64_t i = 0; i < pivots.numel(); ++i) {
    REPDL_CHECK(args.pivots[i] >= 0 && args.pivots[i] <= args.n, ArgName{"lu_solve", "pivots"}, " holds ",
                args.pivots[i], ", which is neither one of the rows 1 to ", args.n, " nor 0; give what lu returned");
  }
  SetRows(rows, scratch, args);
  args.output = output.data;
  LuKernel(place, args);
}

Specs InferSolve(const TensorView& input, const TensorView& rows) {
  const ArgName name{"solve", "input"}, name_rows{"solve", "rows"};
  CheckFloat(name, input, input);
  CheckFloat(name_rows, rows, input);
  CheckSquare(name, input);
  CheckRows(name_rows, rows, name, input);
  return {{rows.dtype, rows.shape},
          {input.dtype, input.shape},
          {DType::kInt64, BatchAnd(input.shape, {input.shape[input.rank() - 1]})},
          {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Solve(const TensorView& input, const TensorView& rows, Out output, Out factors, Out pivots, Out info) {
  const FpEnvGuard guard;
  CheckOutputs("solve", InferSolve(input, rows), {&output, &factors, &pivots, &info}, input);
  const Place place = PlaceOf("solve", input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  LuArgs args = ArgsFor(input, scratch);
  SetRows(rows, scratch, args);
  args.factors = factors.data, args.pivots = pivots.Data<int64_t>(), args.info = info.Data<int64_t>();
  args.output = output.data;
  LuKernel(place, args);
}

Specs InferInv(const TensorView& input) {
  const ArgName name{"inv", "input"};
  CheckFloat(name, input, input);
  CheckSquare(name, input);
  return {{input.dtype, input.shape}, {DType::kInt64, BatchAnd(input.shape, {})}};
}

void Inv(const TensorView& input, Out output, Out info) {
  const FpEnvGuard guard;
  CheckOutputs("inv", InferInv(input), {&output, &info}, input);
  const Place place = PlaceOf("inv", input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  LuArgs args = ArgsFor(input, scratch);
  args.num_rows = args.n;
  args.info = info.Data<int64_t>();
  args.output = output.data;
  LuKernel(place, args);
}

Specs InferDet(const TensorView& input) { return InferDeterminant("det", input); }

void Det(const TensorView& input, Out output, Out sign, Out factors, Out pivots) {
  const FpEnvGuard guard;
  CheckOutputs("det", InferDet(input), {&output, &sign, &factors, &pivots}, input);
  const Place place = PlaceOf("det", input);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  LuArgs args = ArgsFor(input, scratch);
  args.factors = factors.data, args.pivots = pivots.Data<int64_t>();
  args.det = output.data, args.sign = sign.data;
  LuKernel(place, args);
}

Specs InferSlogdet(const TensorView& input) { return InferDeterminant("slogdet", input); }

void Slogdet(const TensorView& input, Out sign, Out logabsdet, Out factors, Out pivots) {
  const FpEnvGuard guard;
  CheckOutputs("slogdet", InferSlogdet(input), {&sign, &logabsdet, &factors, &pivots}, input);
  const Place place = PlaceOf("slogdet", input);
  if (sign.numel() == 0) return;
  OpScratch scratch(place);
  LuArgs args = ArgsFor(input, scratch);
  args.factors = factors.data, args.pivots = pivots.Data<int64_t>();
  args.sign = sign.data, args.logabsdet = logabsdet.data;
  LuKernel(place, args);
}

}  // namespace repdl

REPDL_OPS(lu, MakeOp<InferDet, Det, LuKernel>("det", "input", kFloat32Or64),
          MakeOp<InferLu, Lu, LuKernel>("lu", "input, pivot=True", kFloat32Or64),
          MakeOp<InferLuSolve, LuSolve, LuKernel>("lu_solve", "factors, pivots, rows, adjoint=False", kFloat32Or64),
          MakeOp<InferSolve, Solve, LuKernel>("solve", "input, rows", kFloat32Or64),
          MakeOp<InferInv, Inv, LuKernel>("inv", "input", kFloat32Or64),
          MakeOp<InferSlogdet, Slogdet, LuKernel>("slogdet", "input", kFloat32Or64))
