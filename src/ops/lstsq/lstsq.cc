// SPDX-License-Identifier: MIT
#include "repdl/ops/lstsq.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "drivers/contiguous.h"
#include "ops/lstsq/lstsq_kernel.h"

namespace repdl {
namespace {

constexpr NumberForm kLstsq{"lstsq", false}, kComplexLstsq{"complex_lstsq", true};

Specs Infer(const NumberForm& form, const TensorView& input, const TensorView& rows) {
  const TensorView a = form.Numbers("input", input, input), b = form.Numbers("rows", rows, input);
  CheckRank(form.Arg("input"), a, 2, kMaxRank, "(…, m, n)");
  const int last = a.rank() - 1;
  CheckRank(form.Arg("rows"), b, last + 1, last + 1, "(…, r, m)");
  CheckShape(form.Arg("rows"), b, BatchAnd(a.shape, {b.shape[last - 1], a.shape[last - 1]}));
  return {form.Spec(input.dtype, BatchAnd(a.shape, {b.shape[last - 1], a.shape[last]})),
          {DType::kInt64, BatchAnd(a.shape, {})}};
}

void Run(const NumberForm& form, const TensorView& input, const TensorView& rows, double rcond, bool pivot, Out& output,
         Out& rank) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, Infer(form, input, rows), {&output, &rank}, input);
  const Place place = PlaceOf(form.op, input);
  const IntList shape = form.Numbers("input", input, input).shape, of_rows = form.Numbers("rows", rows, input).shape;
  const int last = shape.size() - 1;
  if (input.numel() == 0) {
    FillWithZero(place, output);
    FillWithZero(place, rank);
    return;
  }
  OpScratch scratch(place);
  LstsqKernel(place,
              {BatchOf(shape), shape[last - 1], shape[last], of_rows[last - 1], MatricesOf(input, scratch, form.pairs),
               MatricesOf(rows, scratch, form.pairs), rcond, pivot, form.pairs, output.data, rank.Data<int64_t>()});
}

}  // namespace

Specs InferLstsq(const TensorView& input, const TensorView& rows, double /*rcond*/, bool /*pivot*/) {
  return Infer(kLstsq, input, rows);
}
void Lstsq(const TensorView& input, const TensorView& rows, double rcond, bool pivot, Out output, Out rank) {
  Run(kLstsq, input, rows, rcond, pivot, output, rank);
}

Specs InferComplexLstsq(const TensorView& input, const TensorView& rows, double /*rcond*/, bool /*pivot*/) {
  return Infer(kComplexLstsq, input, rows);
}
void ComplexLstsq(const TensorView& input, const TensorView& rows, double rcond, bool pivot, Out output, Out rank) {
  Run(kComplexLstsq, input, rows, rcond, pivot, output, rank);
}

}  // namespace repdl

REPDL_OPS(lstsq,
          MakeOp<InferComplexLstsq, ComplexLstsq, LstsqKernel>("complex_lstsq", "input, rows, rcond, pivot=True",
                                                               kFloat32Or64),
          MakeOp<InferLstsq, Lstsq, LstsqKernel>("lstsq", "input, rows, rcond, pivot=True", kFloat32Or64))
