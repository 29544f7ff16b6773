// SPDX-License-Identifier: MIT
#include "drivers/sum_cuda.h"
#include "ops/layer_norm/layer_norm_kernel.h"

namespace repdl::scalar {

#include "ops/layer_norm/layer_norm.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// A number for as many places of a row one after the other.
template <class T>
struct NumbersOfChannels {
  const T* data;
  int64_t places;

  REPDL_ROW T operator()(scalar::RowPlace at) const { return data[places == 1 ? at.index : at.index / places]; }
};

template <class T>
struct LayerNormRows {
  LayerNormArgs<T> args;
  T reciprocal;  // 1 / N: the quotient in double, rounded once

  /// Row r of a tensor.
  template <class U>
  REPDL_ROW scalar::RowNumbers<U> Numbers(U* data, int64_t r) const {
    return {data + r * args.n};
  }
  /// What row r has of a weight or bias.
  REPDL_ROW NumbersOfChannels<T> Affine(const T* data, int64_t r) const {
    return {data + r % args.affine_rows * (args.n / args.places), args.places};
  }
};

template <class T>
static LayerNormRows<T> RowsOf(const LayerNormArgs<T>& args) {
  return {args, static_cast<T>(1.0 / static_cast<double>(args.n))};
}

struct NormalizeRow {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const LayerNormRows<T>& rows) const {
    const LayerNormArgs<T>& args = rows.args;
    const scalar::RowMoments<T> moments =
        scalar::LayerNormRow(row, args.mean != nullptr, rows.reciprocal, args.eps, rows.Numbers(args.input, r),
                             rows.Affine(args.weight, r), rows.Affine(args.bias, r), rows.Numbers(args.output, r));
    if (!row.IsFirst()) return;
    if (args.mean != nullptr) args.mean[r] = moments.mean;
    args.rstd[r] = moments.rstd;
  }
};

struct FillGradInput {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const LayerNormRows<T>& rows) const {
    const LayerNormArgs<T>& args = rows.args;
    const scalar::RowMoments<T> moments{args.mean == nullptr ? T{0} : args.mean[r], args.rstd[r]};
    scalar::LayerNormGradRow(row, args.mean != nullptr, rows.reciprocal, moments, rows.Numbers(args.grad_output, r),
                             rows.Numbers(args.input, r), rows.Affine(args.weight, r),
                             rows.Numbers(args.grad_input, r));
  }
};

/// Term i of the gradient of a weight.
template <class T>
struct TermsOfWeight {
  const T *g, *x, *mean, *rstd;  // the first two of this weight
  int64_t n;

  REPDL_ROW T operator()(scalar::RowPlace at) const {
    const int64_t i = at.index * n;
    return scalar::LayerNormWeightTerm(g[i], x[i], mean == nullptr ? T{0} : mean[at.index], rstd[at.index]);
  }
};

template <class T>
struct TermsOfWeights {
  TermsOfWeight<T> first;

  REPDL_ROW TermsOfWeight<T> operator()(int64_t j) const {
    return {first.g + j, first.x + j, first.mean, first.rstd, first.n};
  }
};

template <class T>
struct TermsOfBiases {
  const T* g;
  int64_t n;

  REPDL_ROW scalar::RowNumbers<const T> operator()(int64_t j) const { return {g + j, n}; }
};

template <class T>
static void Normalize(const Place& place, const LayerNormArgs<T>& args) {
  ForSharedRows<T, NormalizeRow>(place, RowsArgs<LayerNormRows<T>>{args.rows, args.n, args.order, RowsOf(args)});
}

template <class T>
static void FillGrads(const Place& place, const LayerNormArgs<T>& args) {
  ForSharedRows<T, FillGradInput>(place, RowsArgs<LayerNormRows<T>>{args.rows, args.n, args.order, RowsOf(args)});
  if (args.grad_weight == nullptr) return;
  const TermsOfWeights<T> of_weights{{args.grad_output, args.input, args.mean, args.rstd, args.n}};
  SumsSideBySide(place, args.n, args.rows, args.order, of_weights, {}, args.grad_weight);
  if (args.grad_bias == nullptr) return;
  const TermsOfBiases<T> of_biases{args.grad_output, args.n};
  SumsSideBySide(place, args.n, args.rows, args.order, of_biases, {}, args.grad_bias);
}

REPDL_CUDA_KERNEL(LayerNormKernel, LayerNormArgs<float>) { Normalize(place, args); }
REPDL_CUDA_KERNEL(LayerNormKernel, LayerNormArgs<double>) { Normalize(place, args); }
REPDL_CUDA_KERNEL(LayerNormGradKernel, LayerNormArgs<float>) { FillGrads(place, args); }
REPDL_CUDA_KERNEL(LayerNormGradKernel, LayerNormArgs<double>) { FillGrads(place, args); }

}  // namespace repdl::cuda
