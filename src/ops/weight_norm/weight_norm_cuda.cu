// SPDX-License-Identifier: MIT
#include "drivers/row_cuda.h"
#include "ops/weight_norm/weight_norm_kernel.h"

namespace repdl::scalar {

#include "ops/weight_norm/weight_norm.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T>
struct WeightNormRows {
  WeightNormArgs<T> args;

  template <class U>
  REPDL_ROW scalar::RowNumbers<U> Numbers(U* data, int64_t r) const {
    if (args.across) return {data + r, args.rows};
    return {data + r * args.n, 1};
  }
};

struct ScaleRow {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const WeightNormRows<T>& rows) const {
    const auto v = rows.Numbers(rows.args.v, r);
    const auto output = rows.Numbers(rows.args.output, r);
    const auto square = [&](scalar::RowPlace at) { return scalar::Mul(v(at), v(at)); };
    const T norm = scalar::Sqrt(row.Sum(square)), factor = scalar::Div(rows.args.g[r], norm);
    row.Each([&](scalar::RowPlace at) { output.Put(at, scalar::Mul(v(at), factor)); });
    if (row.IsFirst()) rows.args.of_rows[r] = norm;
  }
};

struct ScaleRowGrad {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const WeightNormRows<T>& rows) const {
    const auto v = rows.Numbers(rows.args.v, r), u = rows.Numbers(rows.args.grad_output, r);
    const auto grad = rows.Numbers(rows.args.output, r);
    const T norm = rows.args.norm[r], factor = scalar::Div(rows.args.g[r], norm);
    const T sum = row.Sum([&](scalar::RowPlace at) { return scalar::Mul(u(at), v(at)); });
    const T share = scalar::ShareOfNorm(sum, norm);
    row.Each([&](scalar::RowPlace at) { grad.Put(at, scalar::GradOfWeight(u(at), v(at), factor, share)); });
    if (row.IsFirst()) rows.args.of_rows[r] = scalar::Div(sum, norm);
  }
};

template <class Body, class T>
static void Run(const Place& place, const WeightNormArgs<T>& args) {
  Loops starts;
  starts.Append(args.rows, args.across ? 1 : args.n);
  ForRows<T, Body>(place, RowsArgs<WeightNormRows<T>>{args.rows, args.n, args.order, {args}},
                   AreSideBySide(starts, args.across ? args.rows : 1));
}

REPDL_CUDA_KERNEL(WeightNormKernel, WeightNormArgs<float>) { Run<ScaleRow>(place, args); }
REPDL_CUDA_KERNEL(WeightNormKernel, WeightNormArgs<double>) { Run<ScaleRow>(place, args); }
REPDL_CUDA_KERNEL(WeightNormGradKernel, WeightNormArgs<float>) { Run<ScaleRowGrad>(place, args); }
REPDL_CUDA_KERNEL(WeightNormGradKernel, WeightNormArgs<double>) { Run<ScaleRowGrad>(place, args); }

}  // namespace repdl::cuda
