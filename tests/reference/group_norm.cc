// SPDX-License-Identifier: MIT
#include <cmath>

#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// A group is n numbers in a row: places of one channel, then of the next.
struct Groups {
  Arguments args;
  IntList shape = args.Shape("input");
  Floats x = args.FloatsOf("input");
  Floats weight = args.FloatsOf("weight");
  int64_t samples = shape[0], channels = shape[1], count;
  int64_t places = 1;
  int64_t n;
  float r;

  Groups(const Case& test_case, bool is_grad) : args(test_case) {
    for (int i = 2; i < shape.size(); ++i) places *= shape[i];
    const int64_t of_sample = is_grad ? args.Shape("mean")[1] : args.Int("num_groups");
    count = samples * of_sample;
    n = channels / of_sample * places;
    r = static_cast<float>(1.0 / static_cast<double>(n));
  }

  int64_t Channel(int64_t at) const { return at / places % channels; }
};

}  // namespace

static Results RunGroupNorm(const Case& test_case) {
  const Groups groups(test_case, false);
  const Floats bias = groups.args.FloatsOf("bias");
  const float eps = static_cast<float>(groups.args.Number("eps"));
  Floats output(groups.x.size());
  Floats means;
  Floats rstds;
  for (int64_t group = 0; group < groups.count; ++group) {
    Sum sum(groups.args.TheOrder());
    for (int64_t i = 0; i < groups.n; ++i) sum.Add(groups.x[group * groups.n + i]);
    const float mean = sum.Result() * groups.r;
    Sum squares(groups.args.TheOrder());
    for (int64_t i = 0; i < groups.n; ++i) {
      const float difference = groups.x[group * groups.n + i] - mean;
      squares.Add(difference * difference);
    }
    const float rstd = 1.0f / std::sqrt(squares.Result() * groups.r + eps);
    for (int64_t at = group * groups.n; at < (group + 1) * groups.n; ++at) {
      float value = (groups.x[at] - mean) * rstd;
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

static Results RunGroupNormGrad(const Case& test_case) {
  const Groups groups(test_case, true);
  const Floats g = groups.args.FloatsOf("grad_output");
  const Floats mean = groups.args.FloatsOf("mean");
  const Floats rstd = groups.args.FloatsOf("rstd");
  std::vector<Sum> weight_sums(groups.channels, Sum(groups.args.TheOrder()));
  std::vector<Sum> bias_sums(groups.channels, Sum(groups.args.TheOrder()));
  Floats grad_input(groups.x.size());
  for (int64_t group = 0; group < groups.count; ++group) {
    const int64_t first = group * groups.n;
    Floats h(groups.n);
    Floats u(groups.n);
    Sum sum_of_u(groups.args.TheOrder());
    Sum sum_of_uh(groups.args.TheOrder());
    for (int64_t i = 0; i < groups.n; ++i) {
      const int64_t channel = groups.Channel(first + i);
      const float grad = g[first + i];
      h[i] = (groups.x[first + i] - mean[group]) * rstd[group];
      u[i] = groups.weight.empty() ? grad : grad * groups.weight[channel];
      sum_of_u.Add(u[i]);
      sum_of_uh.Add(u[i] * h[i]);
      weight_sums[channel].Add(grad * h[i]);
      bias_sums[channel].Add(grad);
    }
    const float a = sum_of_u.Result();
    const float b = sum_of_uh.Result();
    for (int64_t i = 0; i < groups.n; ++i) {
      grad_input[first + i] = rstd[group] * ((u[i] - a * groups.r) - h[i] * (b * groups.r));
    }
  }
  Floats grad_weight;
  Floats grad_bias;
  for (Sum& sum : weight_sums) grad_weight.push_back(sum.Result());
  for (Sum& sum : bias_sums) grad_bias.push_back(sum.Result());
  Results results;
  Append(results, grad_input, groups.args.OutputShape(0));
  Append(results, grad_weight, groups.args.OutputShape(1));
  Append(results, grad_bias, groups.args.OutputShape(2));
  return results;
}

static const Op kOps[] = {{"group_norm", RunGroupNorm}, {"group_norm_grad", RunGroupNormGrad}};

}  // namespace repdl::reference
