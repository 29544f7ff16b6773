// SPDX-License-Identifier: MIT
#include "repdl/ops/qr.h"

#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/qr/qr_kernel.h"

namespace repdl {

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
  CheckCpu("geqrf", input);
  if (order.numel() == 0) return;
  Scratch scratch;
  GeqrfKernel({BatchOf(input.shape), input.shape[input.rank() - 2], input.shape[input.rank() - 1],
               MatricesOf(input, scratch), pivot, factors.data, tau.data, order.Data<int64_t>()});
}

Specs InferHouseholder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool /*adjoint*/) {
  const ArgName name{"householder", "factors"}, name_tau{"householder", "tau"}, name_rows{"householder", "rows"};
  CheckFloat(name, factors, factors);
  CheckFloat(name_tau, tau, factors);
  CheckFloat(name_rows, rows, factors);
  CheckRank(name, factors, 2, kMaxRank, "(…, n, m)");
  const int rank = factors.rank();
  const int64_t n = factors.shape[rank - 2], m = factors.shape[rank - 1];
  CheckRank(name_tau, tau, rank - 1, rank - 1, "(…, k)");
  const int64_t k = tau.shape[rank - 2];
  CheckShape(name_tau, tau, BatchAnd(factors.shape, {k}));
  REPDL_CHECK(k <= std::min(m, n), name_tau, " of shape ", Name(tau.shape), " has more numbers than factors of shape ",
              Name(factors.shape), " have reflections");
  CheckRank(name_rows, rows, rank, rank, "(…, r, m)");
  CheckShape(name_rows, rows, BatchAnd(factors.shape, {rows.shape[rank - 2], m}));
  return {{rows.dtype, rows.shape}};
}

void Householder(const TensorView& factors, const TensorView& tau, const TensorView& rows, bool adjoint, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("householder", InferHouseholder(factors, tau, rows, adjoint), {&output}, factors);
  CheckCpu("householder", factors);
  if (output.numel() == 0) return;
  Scratch scratch;
  const int rank = rows.rank();
  TensorView tau_rows = tau;  // (…, 1, k)
  tau_rows.shape = BatchAnd(rows.shape, {1, tau.shape[rank - 2]});
  tau_rows.strides.Append(tau.strides[rank - 2]);
  HouseholderKernel({BatchOf(rows.shape), rows.shape[rank - 1], tau.shape[rank - 2], rows.shape[rank - 2],
                     MatricesOf(factors, scratch), MatricesOf(tau_rows, scratch), MatricesOf(rows, scratch), adjoint,
                     output.data});
}

}  // namespace repdl

REPDL_OPS(qr, MakeOp<InferGeqrf, Geqrf>("geqrf", "input, pivot=False", kFloat32Or64),
          MakeOp<InferHouseholder, Householder>("householder", "factors, tau, rows, adjoint=False", kFloat32Or64))
