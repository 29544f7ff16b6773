// SPDX-License-Identifier: MIT
#include <cmath>

#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// Rows of n numbers, one after another; `of_mean` is layer_norm, else rms_norm.
template <class T>
struct Rows {
  Arguments args;
  bool of_mean;
  int64_t n = Size(args.List("normalized_shape"));
  Numbers<T> x = args.NumbersOf<T>("input");
  Numbers<T> weight = args.NumbersOf<T>("weight");
  int64_t count = n == 0 ? 0 : static_cast<int64_t>(x.size()) / n;
  T r = static_cast<T>(1.0 / static_cast<double>(n));

  Rows(const Case& test_case, bool of_mean) : args(test_case), of_mean(of_mean) {}
};

template <class T>
Results Forward(const Case& test_case, bool of_mean) {
  const Rows<T> rows(test_case, of_mean);
  const Numbers<T> bias = of_mean ? rows.args.template NumbersOf<T>("bias") : Numbers<T>();
  const T eps = static_cast<T>(rows.args.Number("eps"));
  Numbers<T> output(rows.x.size());
  Numbers<T> means;
  Numbers<T> rstds;
  for (int64_t row = 0; row < rows.count; ++row) {
    Numbers<T> y(rows.x.begin() + row * rows.n, rows.x.begin() + (row + 1) * rows.n);
    if (of_mean) {
      SumOf<T> sum(rows.args.TheOrder());
      for (const T x : y) sum.Add(x);
      means.push_back(sum.Result() * rows.r);
      for (T& x : y) x = x - means.back();
    }
    SumOf<T> squares(rows.args.TheOrder());
    for (const T x : y) squares.Add(x * x);
    rstds.push_back(T{1} / std::sqrt(squares.Result() * rows.r + eps));
    for (int64_t i = 0; i < rows.n; ++i) {
      T value = y[i] * rstds.back();
      if (!rows.weight.empty()) value = value * rows.weight[i];
      if (!bias.empty()) value = value + bias[i];
      output[row * rows.n + i] = value;
    }
  }
  Results results;
  Append(results, output, rows.args.OutputShape(0));
  if (of_mean) Append(results, means, rows.args.OutputShape(1));
  Append(results, rstds, rows.args.OutputShape(of_mean ? 2 : 1));
  return results;
}

/// By the input, and by the parameters where they are asked for.
template <class T>
Results Gradients(const Case& test_case, bool of_mean, bool of_parameters) {
  const Rows<T> rows(test_case, of_mean);
  const Numbers<T> g = rows.args.template NumbersOf<T>("grad_output");
  const Numbers<T> mean = of_mean ? rows.args.template NumbersOf<T>("mean") : Numbers<T>();
  const Numbers<T> rstd = rows.args.template NumbersOf<T>("rstd");
  std::vector<SumOf<T>> grad_weight(rows.n, SumOf<T>(rows.args.TheOrder()));
  std::vector<SumOf<T>> grad_bias(rows.n, SumOf<T>(rows.args.TheOrder()));
  Numbers<T> grad_input(rows.x.size());
  for (int64_t row = 0; row < rows.count; ++row) {
    Numbers<T> h(rows.n);
    Numbers<T> u(rows.n);
    SumOf<T> sum_of_u(rows.args.TheOrder());
    SumOf<T> sum_of_uh(rows.args.TheOrder());
    for (int64_t i = 0; i < rows.n; ++i) {
      const int64_t at = row * rows.n + i;
      h[i] = (of_mean ? rows.x[at] - mean[row] : rows.x[at]) * rstd[row];
      u[i] = rows.weight.empty() ? g[at] : g[at] * rows.weight[i];
      sum_of_u.Add(u[i]);
      sum_of_uh.Add(u[i] * h[i]);
      grad_weight[i].Add(g[at] * h[i]);
      grad_bias[i].Add(g[at]);
    }
    const T a = sum_of_u.Result();
    const T b = sum_of_uh.Result();
    for (int64_t i = 0; i < rows.n; ++i) {
      const T difference = of_mean ? u[i] - a * rows.r : u[i];
      grad_input[row * rows.n + i] = rstd[row] * (difference - h[i] * (b * rows.r));
    }
  }
  Results results;
  Append(results, grad_input, rows.args.OutputShape(0));
  for (int i = 1; of_parameters && i <= (of_mean ? 2 : 1); ++i) {
    Numbers<T> totals;
    for (SumOf<T>& sum : i == 1 ? grad_weight : grad_bias) totals.push_back(sum.Result());
    Append(results, totals, rows.args.OutputShape(i));
  }
  return results;
}

}  // namespace

template <class T>
static Results RunLayerNorm(const Case& test_case) {
  return Forward<T>(test_case, true);
}

template <class T>
static Results RunLayerNormGrad(const Case& test_case) {
  return Gradients<T>(test_case, true, true);
}

template <class T>
static Results RunLayerNormGradInput(const Case& test_case) {
  return Gradients<T>(test_case, true, false);
}

template <class T>
static Results RunRmsNorm(const Case& test_case) {
  return Forward<T>(test_case, false);
}

template <class T>
static Results RunRmsNormGrad(const Case& test_case) {
  return Gradients<T>(test_case, false, true);
}

template <class T>
static Results RunRmsNormGradInput(const Case& test_case) {
  return Gradients<T>(test_case, false, false);
}

static const Op kOps[] = {{"layer_norm", REPDL_EITHER(RunLayerNorm)},
                          {"layer_norm_grad", REPDL_EITHER(RunLayerNormGrad)},
                          {"layer_norm_grad_input", REPDL_EITHER(RunLayerNormGradInput)},
                          {"rms_norm", REPDL_EITHER(RunRmsNorm)},
                          {"rms_norm_grad", REPDL_EITHER(RunRmsNormGrad)},
                          {"rms_norm_grad_input", REPDL_EITHER(RunRmsNormGradInput)}};

}  // namespace repdl::reference
