// SPDX-License-Identifier: MIT
#include "repdl/ops/cholesky.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/cholesky/cholesky_kernel.h"

namespace repdl {

namespace {

constexpr NumberForm kCholesky{"cholesky", false}, kComplexCholesky{"complex_cholesky", true};

Specs Infer(const NumberForm& form, const TensorView& input) {
  const TensorView a = form.Numbers("input", input, input);
  CheckSquare(form.Arg("input"), a);
  return {{input.dtype, input.shape}, {DType::kInt64, BatchAnd(a.shape, {})}};
}

void Run(const NumberForm& form, const TensorView& input, Out& output, Out& info) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, Infer(form, input), {&output, &info}, input);
  const Place place = PlaceOf(form.op, input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  const IntList shape = form.Numbers("input", input, input).shape;
  CholeskyKernel(place, {BatchOf(shape), shape[shape.size() - 1], MatricesOf(input, scratch, form.pairs), output.data,
                         info.Data<int64_t>(), form.pairs});
}

}  // namespace

Specs InferCholesky(const TensorView& input) { return Infer(kCholesky, input); }
void Cholesky(const TensorView& input, Out output, Out info) { Run(kCholesky, input, output, info); }

Specs InferComplexCholesky(const TensorView& input) { return Infer(kComplexCholesky, input); }
void ComplexCholesky(const TensorView& input, Out output, Out info) { Run(kComplexCholesky, input, output, info); }

}  // namespace repdl

REPDL_OPS(cholesky, MakeOp<InferCholesky, Cholesky, CholeskyKernel>("cholesky", "input", kFloat32Or64),
          MakeOp<InferComplexCholesky, ComplexCholesky, CholeskyKernel>("complex_cholesky", "input", kFloat32Or64))
