// SPDX-License-Identifier: MIT
#include "repdl/ops/eig.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/eig/eig_kernel.h"

namespace repdl {
namespace {

constexpr NumberForm kEig{"eig", false}, kComplexEig{"complex_eig", true}, kEigvals{"eigvals", false},
    kComplexEigvals{"complex_eigvals", true};

Specs Infer(const NumberForm& form, const TensorView& input, bool with_vectors) {
  const TensorView a = form.Numbers("input", input, input);
  const ArgName name = form.Arg("input");
  CheckSquare(name, a);
  if (with_vectors) CheckRank(name, a, 2, kMaxRank - 1, "(…, n, n)");  // the vectors have a dimension more
  const int64_t n = a.shape[a.rank() - 1];
  const TensorSpec values{input.dtype, BatchAnd(a.shape, {n, 2})}, info{DType::kInt64, BatchAnd(a.shape, {})};
  if (!with_vectors) return {values, info};
  IntList shape = BatchAnd(a.shape, {n, n});
  shape.Append(2);
  return {values, {input.dtype, shape}, info};
}

void Run(const NumberForm& form, const TensorView& input, Out& values, Out* vectors, Out& info) {
  const FpEnvGuard guard;
  const Specs specs = Infer(form, input, vectors != nullptr);
  if (vectors == nullptr) {
    CheckOutputs(form.op, specs, {&values, &info}, input);
  } else {
    CheckOutputs(form.op, specs, {&values, vectors, &info}, input);
  }
  const Place place = PlaceOf(form.op, input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  const IntList shape = form.Numbers("input", input, input).shape;
  const EigArgs args{BatchOf(shape),
                     shape[shape.size() - 1],
                     MatricesOf(input, scratch, form.pairs),
                     values.data,
                     vectors == nullptr ? nullptr : vectors->data,
                     info.Data<int64_t>()};
  form.pairs ? ComplexEigKernel(place, args) : EigKernel(place, args);
}

}  // namespace

Specs InferEig(const TensorView& input) { return Infer(kEig, input, true); }
void Eig(const TensorView& input, Out values, Out vectors, Out info) { Run(kEig, input, values, &vectors, info); }

Specs InferEigvals(const TensorView& input) { return Infer(kEigvals, input, false); }
void Eigvals(const TensorView& input, Out values, Out info) { Run(kEigvals, input, values, nullptr, info); }

Specs InferComplexEig(const TensorView& input) { return Infer(kComplexEig, input, true); }
void ComplexEig(const TensorView& input, Out values, Out vectors, Out info) {
  Run(kComplexEig, input, values, &vectors, info);
}

Specs InferComplexEigvals(const TensorView& input) { return Infer(kComplexEigvals, input, false); }
void ComplexEigvals(const TensorView& input, Out values, Out info) {
  Run(kComplexEigvals, input, values, nullptr, info);
}

}  // namespace repdl

REPDL_OPS(eig, MakeOp<InferEig, Eig, EigKernel>("eig", "input", kFloat32Or64),
          MakeOp<InferEigvals, Eigvals, EigKernel>("eigvals", "input", kFloat32Or64),
          MakeOp<InferComplexEig, ComplexEig, ComplexEigKernel>("complex_eig", "input", kFloat32Or64),
          MakeOp<InferComplexEigvals, ComplexEigvals, ComplexEigKernel>("complex_eigvals", "input", kFloat32Or64))
