// SPDX-License-Identifier: MIT
#include "repdl/ops/qr.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/qr/qr_kernel.h"

namespace repdl {
namespace {

GeqrfArgs ArgsFor(const TensorView& input, OpScratch& scratch) {
  GeqrfArgs args{};
  args.batch = BatchOf(input.shape);
  args.m = input.shape[input.rank() - 2], args.n = input.shape[input.rank() - 1];
  args.input = MatricesOf(input, scratch);
  return args;
}

void CheckReflections(const char* op, const TensorView& factors, const TensorView& tau) {
  const ArgName name{op, "factors"}, name_tau{op, "tau"};
  CheckFloat(name, factors, factors);
  CheckFloat(name_tau, tau, factors);
  CheckRank(name, factors, 2, kMaxRank, "(…, n, m)");
  const int rank = factors.rank();
  const int64_t n = factors.shape[rank - 2], m = factors.shape[rank - 1];
  CheckRank(name_tau, tau, rank - 1, rank - 1, "(…, k)");
  const int64_t k = tau.shape[rank - 2];
  CheckShape(name_tau, tau, BatchAnd(factors.shape, {k}));
  REPDL_CHECK(k <= std::min(m, n), name_tau, " of shape ", Name(tau.shape), " has more numbers than factors of shape ",
              Name(factors.shape), " have reflections");
}

/// Without rows.
HouseholderArgs ArgsFor(const TensorView& factors, const TensorView& tau, OpScratch& scratch) {
  const int rank = factors.rank();
  TensorView tau_rows = tau;  // (…, 1, k)
  tau_rows.shape = BatchAnd(factors.shape, {1, tau.shape[rank - 2]});
  tau_rows.strides.Append(tau.strides[rank - 2]);
  HouseholderArgs args{};
  args.batch = BatchOf(factors.shape);
  args.m = factors.shape[rank - 1], args.num_reflections = tau.shape[rank - 2];
  args.factors = MatricesOf(factors, scratch), args.tau = MatricesOf(tau_rows, scratch);
  args.rows.dtype = factors.dtype;
  return args;
}

}  // namespace

Specs InferGeqrf(const TensorView& input, bool /*pivot*/) {
  const ArgName name{"geqrf", "input"};
  CheckFloat(name, input, input);
  CheckRank(name, input, 2, kMaxRank, "(…, m, n)");
  const int64_t m = input.shape[input.rank() - 2], n = input.shape[input.rank() - 1];
  return {{input.dtype, BatchAnd(input.shape, {n, m})},
          {input.dtype, BatchAnd(input.shape, {std::min(m, n)})},
          {DType::kInt64, BatchAnd(input.shape, {n})}};
}

void Geqrf(const TensorView& input, bool pivot, Out factors, Out tau, Out order) {
  const FpEnvGuard guard;
  CheckOutputs("geqrf", InferGeqrf(input, pivot), {&factors, &tau, &order}, input);
  const Place place = PlaceOf("geqrf", input);
  if (order.numel() == 0) return;
  OpScratch scratch(place);
  GeqrfArgs args = ArgsFor(input, scratch);
  args.pivot = pivot;
  args.factors = factors.data, args.tau = tau.data, args.order = order.Data<int64_t>();
  GeqrfKernel(place, args);
}

Specs InferQr(const TensorView& input, bool complete) {
  const ArgName name{"qr", "input"};
  CheckFloat(name, input, input);
  CheckRank(name, input, 2, kMaxRank, "(…, m, n)");
  const int64_t m = input.shape[input.rank() - 2], n = input.shape[input.rank() - 1];
  const int64_t k = complete ? m : std::min(m, n);
  return {{input.dtype, BatchAnd(input.shape, {k, m})}, {input.dtype, BatchAnd(input.shape, {n, k})}};
}

void Qr(const TensorView& input, bool complete, Out q, Out r) {
  const FpEnvGuard guard;
  CheckOutputs("qr", InferQr(input, complete), {&q, &r}, input);
  const Place place = PlaceOf("qr", input);
  if (q.numel() == 0 && r.numel() == 0) return;
  OpScratch scratch(place);
  GeqrfArgs args = ArgsFor(input, scratch);
  args.num_columns = q.shape[q.rank() - 2];
  args.q = q.data, args.r = r.data;
  GeqrfKernel(place, args);
}

Specs InferHouseholder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool /*adjoint*/) {
  const ArgName name_rows{"householder", "rows"};
  CheckReflections("householder", factors, tau);
  CheckFloat(name_rows, rows, factors);
  const int rank = factors.rank();
  CheckRank(name_rows, rows, rank, rank, "(…, r, m)");
  CheckShape(name_rows, rows, BatchAnd(factors.shape, {rows.shape[rank - 2], factors.shape[rank - 1]}));
  return {{rows.dtype, rows.shape}};
}

void Householder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool adjoint, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("householder", InferHouseholder(factors, tau, rows, adjoint), {&output}, factors);
  const Place place = PlaceOf("householder", factors);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  HouseholderArgs args = ArgsFor(factors, tau, scratch);
  args.num_rows = rows.shape[rows.rank() - 2];
  args.rows = MatricesOf(rows, scratch);
  args.adjoint = adjoint;
  args.output = output.data;
  HouseholderKernel(place, args);
}

Specs InferOrgqr(const TensorView& factors, const TensorView& tau, int64_t columns) {
  CheckReflections("orgqr", factors, tau);
  const int64_t m = factors.shape[factors.rank() - 1];
  REPDL_CHECK(columns >= 0 && columns <= m, ArgName{"orgqr", "columns"}, " ", columns, " must be between 0 and the ", m,
              " that Q has");
  return {{factors.dtype, BatchAnd(factors.shape, {columns, m})}};
}

void Orgqr(const TensorView& factors, const TensorView& tau, int64_t columns, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("orgqr", InferOrgqr(factors, tau, columns), {&output}, factors);
  const Place place = PlaceOf("orgqr", factors);
  if (output.numel() == 0) return;
  OpScratch scratch(place);
  HouseholderArgs args = ArgsFor(factors, tau, scratch);
  args.num_rows = columns;
  args.output = output.data;
  HouseholderKernel(place, args);
}

}  // namespace repdl

REPDL_OPS(qr, MakeOp<InferGeqrf, Geqrf, GeqrfKernel>("geqrf", "input, pivot=False", kFloat32Or64),
          MakeOp<InferHouseholder, Householder, HouseholderKernel>("householder", "factors, tau, rows, adjoint=False",
                                                                   kFloat32Or64),
          MakeOp<InferOrgqr, Orgqr, HouseholderKernel>("orgqr", "factors, tau, columns", kFloat32Or64),
          MakeOp<InferQr, Qr, GeqrfKernel>("qr", "input, complete=False", kFloat32Or64))
