// SPDX-License-Identifier: MIT
#include <cmath>

#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// The operands, of which v has one norm for each place along the dimension.
template <class T>
struct Operands {
  Arguments args;
  Layout layout = Layout::Along(args.Shape("v"), args.Int("dim"));
  Numbers<T> v = args.NumbersOf<T>("v");
  Numbers<T> g = args.NumbersOf<T>("g");

  explicit Operands(const Case& test_case) : args(test_case) {}
};

}  // namespace

template <class T>
static Results RunWeightNorm(const Case& test_case) {
  const Operands<T> of(test_case);
  Numbers<T> output(of.v.size());
  Numbers<T> norms;
  for (int64_t c = 0; c < of.layout.length; ++c) {
    SumOf<T> squares(of.args.TheOrder());
    for (int64_t row = 0; row < of.layout.rows(); ++row) {
      const T x = of.v[of.layout.At(row, c)];
      squares.Add(x * x);
    }
    norms.push_back(std::sqrt(squares.Result()));
    const T factor = of.g[c] / norms.back();
    for (int64_t row = 0; row < of.layout.rows(); ++row) {
      const int64_t at = of.layout.At(row, c);
      output[at] = of.v[at] * factor;
    }
  }
  Results results;
  Append(results, output, of.args.OutputShape(0));
  Append(results, norms, of.args.OutputShape(1));
  return results;
}

template <class T>
static Results RunWeightNormGrad(const Case& test_case) {
  const Operands<T> of(test_case);
  const Numbers<T> grad = of.args.template NumbersOf<T>("grad_output");
  const Numbers<T> norm = of.args.template NumbersOf<T>("norm");
  Numbers<T> grad_v(of.v.size());
  Numbers<T> grad_g;
  for (int64_t c = 0; c < of.layout.length; ++c) {
    SumOf<T> products(of.args.TheOrder());
    for (int64_t row = 0; row < of.layout.rows(); ++row) {
      const int64_t at = of.layout.At(row, c);
      products.Add(grad[at] * of.v[at]);
    }
    const T sum = products.Result();
    const T square = norm[c] * norm[c];
    const T share = sum / square;
    const T factor = of.g[c] / norm[c];
    for (int64_t row = 0; row < of.layout.rows(); ++row) {
      const int64_t at = of.layout.At(row, c);
      const T along = of.v[at] * share;
      const T rest = grad[at] - along;
      grad_v[at] = factor * rest;
    }
    grad_g.push_back(sum / norm[c]);
  }
  Results results;
  Append(results, grad_v, of.args.OutputShape(0));
  Append(results, grad_g, of.args.OutputShape(1));
  return results;
}

static const Op kOps[] = {{"weight_norm", REPDL_EITHER(RunWeightNorm)},
                          {"weight_norm_grad", REPDL_EITHER(RunWeightNormGrad)}};

}  // namespace repdl::reference
