// SPDX-License-Identifier: MIT
#include "repdl/ops/eigh.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/eigh/eigh_kernel.h"

namespace repdl {
namespace {

constexpr NumberForm kEigh{"eigh", false}, kComplexEigh{"complex_eigh", true}, kEigvalsh{"eigvalsh", false},
    kComplexEigvalsh{"complex_eigvalsh", true};

Specs Infer(const NumberForm& form, const TensorView& input, bool with_vectors) {
  const TensorView a = form.Numbers("input", input, input);
  CheckSquare(form.Arg("input"), a);
  const TensorSpec values{input.dtype, BatchAnd(a.shape, {a.shape[a.rank() - 1]})};
  const TensorSpec info{DType::kInt64, BatchAnd(a.shape, {})};
  if (!with_vectors) return {values, info};
  return {values, {input.dtype, input.shape}, info};
}

void Run(const NumberForm& form, const TensorView& input, bool upper, Out& values, Out* vectors, Out& info) {
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
  const Matrices matrices = MatricesOf(input, scratch, form.pairs);
  const IntList shape = form.Numbers("input", input, input).shape;
  EighKernel(place, {BatchOf(shape), shape[shape.size() - 1], upper, upper ? matrices.Transposed() : matrices,
                     values.data, vectors == nullptr ? nullptr : vectors->data, info.Data<int64_t>(), form.pairs});
}

}  // namespace

Specs InferEigh(const TensorView& input, bool /*upper*/) { return Infer(kEigh, input, true); }
void Eigh(const TensorView& input, bool upper, Out values, Out vectors, Out info) {
  Run(kEigh, input, upper, values, &vectors, info);
}

Specs InferEigvalsh(const TensorView& input, bool /*upper*/) { return Infer(kEigvalsh, input, false); }
void Eigvalsh(const TensorView& input, bool upper, Out values, Out info) {
  Run(kEigvalsh, input, upper, values, nullptr, info);
}

Specs InferComplexEigh(const TensorView& input, bool /*upper*/) { return Infer(kComplexEigh, input, true); }
void ComplexEigh(const TensorView& input, bool upper, Out values, Out vectors, Out info) {
  Run(kComplexEigh, input, upper, values, &vectors, info);
}

Specs InferComplexEigvalsh(const TensorView& input, bool /*upper*/) { return Infer(kComplexEigvalsh, input, false); }
void ComplexEigvalsh(const TensorView& input, bool upper, Out values, Out info) {
  Run(kComplexEigvalsh, input, upper, values, nullptr, info);
}

}  // namespace repdl

REPDL_OPS(eigh, MakeOp<InferEigh, Eigh, EighKernel>("eigh", "input, upper=False", kFloat32Or64),
          MakeOp<InferEigvalsh, Eigvalsh, EighKernel>("eigvalsh", "input, upper=False", kFloat32Or64),
          MakeOp<InferComplexEigh, ComplexEigh, EighKernel>("complex_eigh", "input, upper=False", kFloat32Or64),
          MakeOp<InferComplexEigvalsh, ComplexEigvalsh, EighKernel>("complex_eigvalsh", "input, upper=False",
                                                                    kFloat32Or64))
