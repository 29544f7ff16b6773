// SPDX-License-Identifier: MIT
#include "repdl/ops/qr.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/qr/qr_kernel.h"

namespace repdl {
namespace {

constexpr NumberForm kGeqrf{"geqrf", false}, kComplexGeqrf{"complex_geqrf", true}, kQr{"qr", false},
    kComplexQr{"complex_qr", true}, kHouseholder{"householder", false},
    kComplexHouseholder{"complex_householder", true}, kOrgqr{"orgqr", false}, kComplexOrgqr{"complex_orgqr", true};

/// The matrices, m x n.
TensorView Input(const NumberForm& form, const TensorView& input) {
  const TensorView a = form.Numbers("input", input, input);
  CheckRank(form.Arg("input"), a, 2, kMaxRank, "(…, m, n)");
  return a;
}

GeqrfArgs ArgsFor(const NumberForm& form, const TensorView& input, OpScratch& scratch) {
  const TensorView a = form.Numbers("input", input, input);
  GeqrfArgs args{};
  args.batch = BatchOf(a.shape);
  args.m = a.shape[a.rank() - 2], args.n = a.shape[a.rank() - 1];
  args.input = MatricesOf(input, scratch, form.pairs);
  args.pairs = form.pairs;
  return args;
}

Specs InferGeqrfOf(const NumberForm& form, const TensorView& input) {
  const TensorView a = Input(form, input);
  const int64_t m = a.shape[a.rank() - 2], n = a.shape[a.rank() - 1];
  return {form.Spec(input.dtype, BatchAnd(a.shape, {n, m})),
          form.Spec(input.dtype, BatchAnd(a.shape, {std::min(m, n)})),
          {DType::kInt64, BatchAnd(a.shape, {n})}};
}

void RunGeqrf(const NumberForm& form, const TensorView& input, bool pivot, Out& factors, Out& tau, Out& order) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferGeqrfOf(form, input), {&factors, &tau, &order}, input);
  const Place place = PlaceOf(form.op, input);
  if (order.numel() == 0) return;
  OpScratch scratch(place);
  GeqrfArgs args = ArgsFor(form, input, scratch);
  args.pivot = pivot;
  args.factors = factors.data, args.tau = tau.data, args.order = order.Data<int64_t>();
  GeqrfKernel(place, args);
}

Specs InferQrOf(const NumberForm& form, const TensorView& input, bool complete) {
  const TensorView a = Input(form, input);
  const int64_t m = a.shape[a.rank() - 2], n = a.shape[a.rank() - 1];
  const int64_t k = complete ? m : std::min(m, n);
  return {form.Spec(input.dtype, BatchAnd(a.shape, {k, m})), form.Spec(input.dtype, BatchAnd(a.shape, {n, k}))};
}

void RunQr(const NumberForm& form, const TensorView& input, bool complete, Out& q, Out& r) {
  const FpEnvGuard guard;
  const Specs specs = InferQrOf(form, input, complete);
  CheckOutputs(form.op, specs, {&q, &r}, input);
  const Place place = PlaceOf(form.op, input);
  if (q.numel() == 0 && r.numel() == 0) return;
  OpScratch scratch(place);
  GeqrfArgs args = ArgsFor(form, input, scratch);
  args.num_columns = complete ? args.m : std::min(args.m, args.n);
  args.q = q.data, args.r = r.data;
  GeqrfKernel(place, args);
}

/// Without rows. Checks factors and tau.
HouseholderArgs ReflectionsOf(const NumberForm& form, const TensorView& factors, const TensorView& tau) {
  const ArgName name = form.Arg("factors"), name_tau = form.Arg("tau");
  const TensorView a = form.Numbers("factors", factors, factors), t = form.Numbers("tau", tau, factors);
  CheckRank(name, a, 2, kMaxRank, "(…, n, m)");
  const int rank = a.rank();
  const int64_t n = a.shape[rank - 2], m = a.shape[rank - 1];
  CheckRank(name_tau, t, rank - 1, rank - 1, "(…, k)");
  const int64_t k = t.shape[rank - 2];
  CheckShape(name_tau, t, BatchAnd(a.shape, {k}));
  REPDL_CHECK(k <= std::min(m, n), name_tau, " of shape ", Name(t.shape), " has more numbers than factors of shape ",
              Name(a.shape), " have reflections");
  HouseholderArgs args{};
  args.batch = BatchOf(a.shape);
  args.m = m, args.num_reflections = k;
  args.rows.dtype = factors.dtype;
  args.pairs = form.pairs;
  return args;
}

void SetReflections(const NumberForm& form, const TensorView& factors, const TensorView& tau, OpScratch& scratch,
                    HouseholderArgs& args) {
  const int last = form.Numbers("tau", tau, tau).rank() - 1;
  TensorView rows = tau;  // (…, 1, k)
  rows.shape = IntList(), rows.strides = IntList();
  for (int dim = 0; dim < tau.rank(); ++dim) {
    if (dim == last) rows.shape.Append(1), rows.strides.Append(tau.strides[dim]);
    rows.shape.Append(tau.shape[dim]), rows.strides.Append(tau.strides[dim]);
  }
  args.factors = MatricesOf(factors, scratch, form.pairs), args.tau = MatricesOf(rows, scratch, form.pairs);
}

Specs InferHouseholderOf(const NumberForm& form, const TensorView& factors, const TensorView& tau,
                         const TensorView& rows) {
  ReflectionsOf(form, factors, tau);
  const TensorView a = form.Numbers("factors", factors, factors), x = form.Numbers("rows", rows, factors);
  const int rank = a.rank();
  CheckRank(form.Arg("rows"), x, rank, rank, "(…, r, m)");
  CheckShape(form.Arg("rows"), x, BatchAnd(a.shape, {x.shape[rank - 2], a.shape[rank - 1]}));
  return {{rows.dtype, rows.shape}};
}

void RunHouseholder(const NumberForm& form, const TensorView& factors, const TensorView& tau, const TensorView& rows,
                    bool adjoint, Out& output) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferHouseholderOf(form, factors, tau, rows), {&output}, factors);
  const Place place = PlaceOf(form.op, factors);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  HouseholderArgs args = ReflectionsOf(form, factors, tau);
  SetReflections(form, factors, tau, scratch, args);
  const TensorView x = form.Numbers("rows", rows, rows);
  args.num_rows = x.shape[x.rank() - 2];
  args.rows = MatricesOf(rows, scratch, form.pairs);
  args.adjoint = adjoint;
  args.output = output.data;
  HouseholderKernel(place, args);
}

Specs InferOrgqrOf(const NumberForm& form, const TensorView& factors, const TensorView& tau, int64_t columns) {
  const int64_t m = ReflectionsOf(form, factors, tau).m;
  REPDL_CHECK(columns >= 0 && columns <= m, form.Arg("columns"), " ", columns, " must be between 0 and the ", m,
              " that Q has");
  return {form.Spec(factors.dtype, BatchAnd(form.Numbers("factors", factors, factors).shape, {columns, m}))};
}

void RunOrgqr(const NumberForm& form, const TensorView& factors, const TensorView& tau, int64_t columns, Out& output) {
  const FpEnvGuard guard;
  CheckOutputs(form.op, InferOrgqrOf(form, factors, tau, columns), {&output}, factors);
  const Place place = PlaceOf(form.op, factors);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  HouseholderArgs args = ReflectionsOf(form, factors, tau);
  SetReflections(form, factors, tau, scratch, args);
  args.num_rows = columns;
  args.output = output.data;
  HouseholderKernel(place, args);
}

}  // namespace

Specs InferGeqrf(const TensorView& input, bool /*pivot*/) { return InferGeqrfOf(kGeqrf, input); }
void Geqrf(const TensorView& input, bool pivot, Out factors, Out tau, Out order) {
  RunGeqrf(kGeqrf, input, pivot, factors, tau, order);
}
Specs InferComplexGeqrf(const TensorView& input, bool /*pivot*/) { return InferGeqrfOf(kComplexGeqrf, input); }
void ComplexGeqrf(const TensorView& input, bool pivot, Out factors, Out tau, Out order) {
  RunGeqrf(kComplexGeqrf, input, pivot, factors, tau, order);
}

Specs InferQr(const TensorView& input, bool complete) { return InferQrOf(kQr, input, complete); }
void Qr(const TensorView& input, bool complete, Out q, Out r) { RunQr(kQr, input, complete, q, r); }
Specs InferComplexQr(const TensorView& input, bool complete) { return InferQrOf(kComplexQr, input, complete); }
void ComplexQr(const TensorView& input, bool complete, Out q, Out r) { RunQr(kComplexQr, input, complete, q, r); }

Specs InferHouseholder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool /*adjoint*/) {
  return InferHouseholderOf(kHouseholder, factors, tau, rows);
}
void Householder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool adjoint, Out output) {
  RunHouseholder(kHouseholder, factors, tau, rows, adjoint, output);
}
Specs InferComplexHouseholder(const TensorView& factors, const TensorView& tau, const TensorView& rows,
                              bool /*adjoint*/) {
  return InferHouseholderOf(kComplexHouseholder, factors, tau, rows);
}
void ComplexHouseholder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool adjoint,
                        Out output) {
  RunHouseholder(kComplexHouseholder, factors, tau, rows, adjoint, output);
}

Specs InferOrgqr(const TensorView& factors, const TensorView& tau, int64_t columns) {
  return InferOrgqrOf(kOrgqr, factors, tau, columns);
}
void Orgqr(const TensorView& factors, const TensorView& tau, int64_t columns, Out output) {
  RunOrgqr(kOrgqr, factors, tau, columns, output);
}
Specs InferComplexOrgqr(const TensorView& factors, const TensorView& tau, int64_t columns) {
  return InferOrgqrOf(kComplexOrgqr, factors, tau, columns);
}
void ComplexOrgqr(const TensorView& factors, const TensorView& tau, int64_t columns, Out output) {
  RunOrgqr(kComplexOrgqr, factors, tau, columns, output);
}

}  // namespace repdl

REPDL_OPS(qr, MakeOp<InferGeqrf, Geqrf, GeqrfKernel>("geqrf", "input, pivot=False", kFloat32Or64),
          MakeOp<InferComplexGeqrf, ComplexGeqrf, GeqrfKernel>("complex_geqrf", "input, pivot=False", kFloat32Or64),
          MakeOp<InferHouseholder, Householder, HouseholderKernel>("householder", "factors, tau, rows, adjoint=False",
                                                                   kFloat32Or64),
          MakeOp<InferComplexHouseholder, ComplexHouseholder, HouseholderKernel>("complex_householder",
                                                                                 "factors, tau, rows, adjoint=False",
                                                                                 kFloat32Or64),
          MakeOp<InferOrgqr, Orgqr, HouseholderKernel>("orgqr", "factors, tau, columns", kFloat32Or64),
          MakeOp<InferComplexOrgqr, ComplexOrgqr, HouseholderKernel>("complex_orgqr", "factors, tau, columns",
                                                                     kFloat32Or64),
          MakeOp<InferQr, Qr, GeqrfKernel>("qr", "input, complete=False", kFloat32Or64),
          MakeOp<InferComplexQr, ComplexQr, GeqrfKernel>("complex_qr", "input, complete=False", kFloat32Or64))
