// SPDX-License-Identifier: MIT
#include <cmath>

#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// A group is n numbers in a row: places of one channel, then of the next.
template <class T>
struct Groups {
  Arguments args;
  IntList shape = args.Shape("input");
  Numbers<T> x = args.NumbersOf<T>("input");
  Numbers<T> weight = args.NumbersOf<T>("weight");
  int64_t samples = shape[0], channels = shape[1], count;
  int64_t places = 1;
  int64_t n;
  T r;

  Groups(const Case& test_case, bool is_grad) : args(test_case) {
    for (int i = 2; i < shape.size(); ++i) places *= shape[i];
    const int64_t of_sample = is_grad ? args.Shape("mean")[1] : args.Int("num_groups");
    count = samples * of_sample;
    n = channels / of_sample * places;
    r = static_cast<T>(1.0 / static_cast<double>(n));
  }

  int64_t Channel(int64_t at) const { return at / places % channels; }
};

}  // namespace

template <class T>
static Results RunGroupNorm(const Case& test_case) {
  const Groups<T> groups(test_case, false);
  const Numbers<T> bias = groups.args.template NumbersOf<T>("bias");
  const T eps = static_cast<T>(groups.args.Number("eps"));
  Numbers<T> output(groups.x.size());
  Numbers<T> means;
  Numbers<T> rstds;
  for (int64_t group = 0; group < groups.count; ++group) {
    SumOf<T> sum(groups.args.TheOrder());
    for (int64_t i = 0; i < groups.n; ++i) sum.Add(groups.x[group * groups.n + i]);
    const T mean = sum.Result() * groups.r;
    SumOf<T> squares(groups.args.TheOrder());
    for (int64_t i = 0; i < groups.n; ++i) {
      const T difference = groups.x[group * groups.n + i] - mean;
      squares.Add(difference * difference);
    }
    const T rstd = T{1} / std::sqrt(squares.Result() * groups.r + eps);
    for (int64_t at = group * groups.n; at < (group + 1) * groups.n; ++at) {
      T value = (groups.x[at] - mean) * rstd;
      if (!groups.weight.empty()) value = value * groups.weight[groups.Channel(at)];
      if (!bias.empty()) value = value + bias[groups.Channel(at)];
      output[at] = value;
    }
    means.push_back(mean);
    rstds.push_back(rstd);
  }
  Results results;
  Append(results, output, groups.args.OutputShape(0));
  Append(results, means, groups.args.OutputShape(1));
  Append(results, rstds, groups.args.OutputShape(2));
  return results;
}

/// By the input, and by weight and bias where they are asked for.
template <class T>
static Results Gradients(const Case& test_case, bool of_parameters) {
  const Groups<T> groups(test_case, true);
  const Numbers<T> g = groups.args.template NumbersOf<T>("grad_output");
  const Numbers<T> mean = groups.args.template NumbersOf<T>("mean");
  const Numbers<T> rstd = groups.args.template NumbersOf<T>("rstd");
  std::vector<SumOf<T>> weight_sums(groups.channels, SumOf<T>(groups.args.TheOrder()));
  std::vector<SumOf<T>> bias_sums(groups.channels, SumOf<T>(groups.args.TheOrder()));
  Numbers<T> grad_input(groups.x.size());
  for (int64_t group = 0; group < groups.count; ++group) {
    const int64_t first = group * groups.n;
    Numbers<T> h(groups.n);
    Numbers<T> u(groups.n);
    SumOf<T> sum_of_u(groups.args.TheOrder());
    SumOf<T> sum_of_uh(groups.args.TheOrder());
    for (int64_t i = 0; i < groups.n; ++i) {
      const int64_t channel = groups.Channel(first + i);
      const T grad = g[first + i];
      h[i] = (groups.x[first + i] - mean[group]) * rstd[group];
      u[i] = groups.weight.empty() ? grad : grad * groups.weight[channel];
      sum_of_u.Add(u[i]);
      sum_of_uh.Add(u[i] * h[i]);
      weight_sums[channel].Add(grad * h[i]);
      bias_sums[channel].Add(grad);
    }
    const T a = sum_of_u.Result();
    const T b = sum_of_uh.Result();
    for (int64_t i = 0; i < groups.n; ++i) {
      grad_input[first + i] = rstd[group] * ((u[i] - a * groups.r) - h[i] * (b * groups.r));
    }
  }
  Numbers<T> grad_weight;
  Numbers<T> grad_bias;
  for (SumOf<T>& sum : weight_sums) grad_weight.push_back(sum.Result());
  for (SumOf<T>& sum : bias_sums) grad_bias.push_back(sum.Result());
  Results results;
  Append(results, grad_input, groups.args.OutputShape(0));
  if (!of_parameters) return results;
  Append(results, grad_weight, groups.args.OutputShape(1));
  Append(results, grad_bias, groups.args.OutputShape(2));
  return results;
}

template <class T>
static Results RunGroupNormGrad(const Case& test_case) {
  return Gradients<T>(test_case, true);
}

template <class T>
static Results RunGroupNormGradInput(const Case& test_case) {
  return Gradients<T>(test_case, false);
}

static const Op kOps[] = {{"group_norm", REPDL_EITHER(RunGroupNorm)},
                          {"group_norm_grad", REPDL_EITHER(RunGroupNormGrad)},
                          {"group_norm_grad_input", REPDL_EITHER(RunGroupNormGradInput)}};

}  // namespace repdl::reference
