// SPDX-License-Identifier: MIT
#include "repdl/ops/svd.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/svd/svd_kernel.h"

namespace repdl {
namespace {

constexpr NumberForm kSvd{"svd", false}, kComplexSvd{"complex_svd", true}, kSvdvals{"svdvals", false},
    kComplexSvdvals{"complex_svdvals", true};

/// The shape of the matrices, m x n.
IntList ShapeOf(const NumberForm& form, const TensorView& input) {
  const TensorView a = form.Numbers("input", input, input);
  CheckRank(form.Arg("input"), a, 2, kMaxRank, "(…, m, n)");
  return a.shape;
}

Specs InferSvdOf(const NumberForm& form, const TensorView& input, bool full) {
  const IntList shape = ShapeOf(form, input);
  const int64_t m = shape[shape.size() - 2], n = shape[shape.size() - 1], k = std::min(m, n);
  return {form.Spec(input.dtype, BatchAnd(shape, {full ? m : k, m})),
          {input.dtype, BatchAnd(shape, {k})},
          form.Spec(input.dtype, BatchAnd(shape, {n, full ? n : k})),
          {DType::kInt64, BatchAnd(shape, {})}};
}

Specs InferSvdvalsOf(const NumberForm& form, const TensorView& input) {
  const IntList shape = ShapeOf(form, input);
  return {{input.dtype, BatchAnd(shape, {std::min(shape[shape.size() - 2], shape[shape.size() - 1])})},
          {DType::kInt64, BatchAnd(shape, {})}};
}

void Run(const NumberForm& form, const TensorView& input, bool full, void* u, Out& s, void* vh, Out& info) {
  const Place place = PlaceOf(form.op, input);
  if (info.numel() == 0) return;
  OpScratch scratch(place);
  const IntList shape = ShapeOf(form, input);
  SvdKernel(place, {BatchOf(shape), shape[shape.size() - 2], shape[shape.size() - 1],
                    MatricesOf(input, scratch, form.pairs), full, u, s.data, vh, info.Data<int64_t>(), form.pairs});
}

void RunSvd(const NumberForm& form, const TensorView& input, bool full, Out& u, Out& s, Out& vh, Out& info) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferSvdOf(form, input, full), {&u, &s, &vh, &info}, input);
  Run(form, input, full, u.data, s, vh.data, info);
}

void RunSvdvals(const NumberForm& form, const TensorView& input, Out& s, Out& info) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferSvdvalsOf(form, input), {&s, &info}, input);
  Run(form, input, false, nullptr, s, nullptr, info);
}

}  // namespace

Specs InferSvd(const TensorView& input, bool full) { return InferSvdOf(kSvd, input, full); }
void Svd(const TensorView& input, bool full, Out u, Out s, Out vh, Out info) {
  RunSvd(kSvd, input, full, u, s, vh, info);
}

Specs InferSvdvals(const TensorView& input) { return InferSvdvalsOf(kSvdvals, input); }
void Svdvals(const TensorView& input, Out s, Out info) { RunSvdvals(kSvdvals, input, s, info); }

Specs InferComplexSvd(const TensorView& input, bool full) { return InferSvdOf(kComplexSvd, input, full); }
void ComplexSvd(const TensorView& input, bool full, Out u, Out s, Out vh, Out info) {
  RunSvd(kComplexSvd, input, full, u, s, vh, info);
}

Specs InferComplexSvdvals(const TensorView& input) { return InferSvdvalsOf(kComplexSvdvals, input); }
void ComplexSvdvals(const TensorView& input, Out s, Out info) { RunSvdvals(kComplexSvdvals, input, s, info); }

}  // namespace repdl

REPDL_OPS(svd, MakeOp<InferSvd, Svd, SvdKernel>("svd", "input, full=False", kFloat32Or64),
          MakeOp<InferSvdvals, Svdvals, SvdKernel>("svdvals", "input", kFloat32Or64),
          MakeOp<InferComplexSvd, ComplexSvd, SvdKernel>("complex_svd", "input, full=False", kFloat32Or64),
          MakeOp<InferComplexSvdvals, ComplexSvdvals, SvdKernel>("complex_svdvals", "input", kFloat32Or64))
