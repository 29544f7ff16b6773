// SPDX-License-Identifier: MIT
#include <cmath>

#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// Rows of n numbers, one after another; `of_mean` is layer_norm, else rms_norm.
struct Rows {
  Arguments args;
  bool of_mean;
  int64_t n = Size(args.List("normalized_shape"));
  Floats x = args.FloatsOf("input");
  Floats weight = args.FloatsOf("weight");
  int64_t count = n == 0 ? 0 : static_cast<int64_t>(x.size()) / n;
  float r = static_cast<float>(1.0 / static_cast<double>(n));

  Rows(const Case& test_case, bool of_mean) : args(test_case), of_mean(of_mean) {}
};

Results Forward(const Case& test_case, bool of_mean) {
  const Rows rows(test_case, of_mean);
  const Floats bias = of_mean ? rows.args.FloatsOf("bias") : Floats();
  const float eps = static_cast<float>(rows.args.Number("eps"));
  Floats output(rows.x.size());
  Floats means;
  Floats rstds;
  for (int64_t row = 0; row < rows.count; ++row) {
    Floats y(rows.x.begin() + row * rows.n, rows.x.begin() + (row + 1) * rows.n);
    if (of_mean) {
      Sum sum(rows.args.TheOrder());
      for (const float x : y) sum.Add(x);
      means.push_back(sum.Result() * rows.r);
      for (float& x : y) x = x - means.back();
    }
    Sum squares(rows.args.TheOrder());
    for (const float x : y) squares.Add(x * x);
    rstds.push_back(1.0f / std::sqrt(squares.Result() * rows.r + eps));
    for (int64_t i = 0; i < rows.n; ++i) {
      float value = y[i] * rstds.back();
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

Results Gradients(const Case& test_case, bool of_mean) {
  const Rows rows(test_case, of_mean);
  const Floats g = rows.args.FloatsOf("grad_output");
  const Floats mean = of_mean ? rows.args.FloatsOf("mean") : Floats();
  const Floats rstd = rows.args.FloatsOf("rstd");
  std::vector<Sum> grad_weight(rows.n, Sum(rows.args.TheOrder()));
  std::vector<Sum> grad_bias(rows.n, Sum(rows.args.TheOrder()));
  Floats grad_input(rows.x.size());
  for (int64_t row = 0; row < rows.count; ++row) {
    Floats h(rows.n);
    Floats u(rows.n);
    Sum sum_of_u(rows.args.TheOrder());
    Sum sum_of_uh(rows.args.TheOrder());
    for (int64_t i = 0; i < rows.n; ++i) {
      const int64_t at = row * rows.n + i;
      h[i] = (of_mean ? rows.x[at] - mean[row] : rows.x[at]) * rstd[row];
      u[i] = rows.weight.empty() ? g[at] : g[at] * rows.weight[i];
      sum_of_u.Add(u[i]);
      sum_of_uh.Add(u[i] * h[i]);
      grad_weight[i].Add(g[at] * h[i]);
      grad_bias[i].Add(g[at]);
    }
    const float a = sum_of_u.Result();
    const float b = sum_of_uh.Result();
    for (int64_t i = 0; i < rows.n; ++i) {
      const float difference = of_mean ? u[i] - a * rows.r : u[i];
      grad_input[row * rows.n + i] = rstd[row] * (difference - h[i] * (b * rows.r));
    }
  }
  Results results;
  Append(results, grad_input, rows.args.OutputShape(0));
  for (int i = 1; i <= (of_mean ? 2 : 1); ++i) {
    Floats totals;
    for (Sum& sum : i == 1 ? grad_weight : grad_bias) totals.push_back(sum.Result());
    Append(results, totals, rows.args.OutputShape(i));
  }
  return results;
}

}  // namespace

static Results RunLayerNorm(const Case& test_case) { return Forward(test_case, true); }

static Results RunLayerNormGrad(const Case& test_case) { return Gradients(test_case, true); }

static Results RunRmsNorm(const Case& test_case) { return Forward(test_case, false); }

static Results RunRmsNormGrad(const Case& test_case) { return Gradients(test_case, false); }

static const Op kOps[] = {{"layer_norm", RunLayerNorm},
                          {"layer_norm_grad", RunLayerNormGrad},
                          {"rms_norm", RunRmsNorm},
                          {"rms_norm_grad", RunRmsNormGrad}};

}  // namespace repdl::reference
