// SPDX-License-Identifier: MIT
#include <cmath>

#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// 1 / count in double, rounded.
template <class T>
T Scale(int64_t count) {
  return static_cast<T>(1.0 / static_cast<double>(count));
}

/// The contract's std.
template <class T>
Numbers<T> Deviation(const Numbers<T>& var, double eps) {
  Numbers<T> deviation(var.size());
  for (size_t c = 0; c < var.size(); ++c) deviation[c] = std::sqrt(var[c] + static_cast<T>(eps));
  return deviation;
}

/// ((x - mean) / std) * weight + bias.
template <class T>
Numbers<T> Normalize(const Numbers<T>& x, const Layout& layout, const Numbers<T>& mean, const Numbers<T>& deviation,
                     const Numbers<T>& weight, const Numbers<T>& bias) {
  Numbers<T> output(x.size());
  for (int64_t c = 0; c < layout.length; ++c) {
    for (int64_t row = 0; row < layout.rows(); ++row) {
      const int64_t at = layout.At(row, c);
      T value = (x[at] - mean[c]) / deviation[c];
      if (!weight.empty()) value = value * weight[c];
      if (!bias.empty()) value = value + bias[c];
      output[at] = value;
    }
  }
  return output;
}

template <class T>
Results Gradients(const Case& test_case, bool of_statistics) {
  const Arguments args(test_case);
  const Layout layout = Layout::Along(args.Shape("input"), 1);
  const Numbers<T> g = args.NumbersOf<T>("grad_output");
  const Numbers<T> x = args.NumbersOf<T>("input");
  const Numbers<T> mean = args.NumbersOf<T>("mean");
  const Numbers<T> deviation = Deviation<T>(args.NumbersOf<T>("var"), args.Number("eps"));
  const Numbers<T> weight = args.NumbersOf<T>("weight");
  const T r = Scale<T>(layout.rows());

  Numbers<T> grad_input(x.size());
  Numbers<T> grad_weight(layout.length);
  Numbers<T> grad_bias(layout.length);
  for (int64_t c = 0; c < layout.length; ++c) {
    SumOf<T> weight_sum(args.TheOrder());
    SumOf<T> bias_sum(args.TheOrder());
    for (int64_t row = 0; row < layout.rows(); ++row) {
      const int64_t at = layout.At(row, c);
      const T h = (x[at] - mean[c]) / deviation[c];
      weight_sum.Add(g[at] * h);
      bias_sum.Add(g[at]);
    }
    grad_weight[c] = weight_sum.Result();
    grad_bias[c] = bias_sum.Result();

    const T factor = (weight.empty() ? T{1} : weight[c]) / deviation[c];
    for (int64_t row = 0; row < layout.rows(); ++row) {
      const int64_t at = layout.At(row, c);
      const T h = (x[at] - mean[c]) / deviation[c];
      grad_input[at] = factor * (of_statistics ? (g[at] - grad_bias[c] * r) - h * (grad_weight[c] * r) : g[at]);
    }
  }
  Results results;
  Append(results, grad_input, args.OutputShape(0));
  Append(results, grad_weight, args.OutputShape(1));
  Append(results, grad_bias, args.OutputShape(2));
  return results;
}

}  // namespace

/// The mean and the variance of each channel.
template <class T>
struct Statistics {
  Numbers<T> mean, var;

  explicit Statistics(const Arguments& args) {
    const Layout layout = Layout::Along(args.Shape("input"), 1);
    const Numbers<T> x = args.NumbersOf<T>("input");
    const T r = Scale<T>(layout.rows());
    for (int64_t c = 0; c < layout.length; ++c) {
      SumOf<T> sum(args.TheOrder());
      for (int64_t row = 0; row < layout.rows(); ++row) sum.Add(x[layout.At(row, c)]);
      mean.push_back(sum.Result() * r);
      SumOf<T> squares(args.TheOrder());
      for (int64_t row = 0; row < layout.rows(); ++row) {
        const T difference = x[layout.At(row, c)] - mean[c];
        squares.Add(difference * difference);
      }
      var.push_back(squares.Result() * r);
    }
  }
};

template <class T>
static Results RunBatchNormStats(const Case& test_case) {
  const Arguments args(test_case);
  const Statistics<T> statistics(args);
  Results results;
  Append(results, statistics.mean, args.OutputShape(0));
  Append(results, statistics.var, args.OutputShape(1));
  return results;
}

template <class T>
static Results RunBatchNorm(const Case& test_case) {
  const Arguments args(test_case);
  const Statistics<T> statistics(args);
  const Numbers<T> deviation = Deviation(statistics.var, args.Number("eps"));
  Results results;
  Append(results,
         Normalize(args.NumbersOf<T>("input"), Layout::Along(args.Shape("input"), 1), statistics.mean, deviation,
                   args.NumbersOf<T>("weight"), args.NumbersOf<T>("bias")),
         args.OutputShape(0));
  Append(results, statistics.mean, args.OutputShape(1));
  Append(results, statistics.var, args.OutputShape(2));
  return results;
}

template <class T>
static Results RunBatchNormEval(const Case& test_case) {
  const Arguments args(test_case);
  const Layout layout = Layout::Along(args.Shape("input"), 1);
  const Numbers<T> deviation = Deviation<T>(args.NumbersOf<T>("var"), args.Number("eps"));
  Results results;
  Append(results,
         Normalize<T>(args.NumbersOf<T>("input"), layout, args.NumbersOf<T>("mean"), deviation,
                      args.NumbersOf<T>("weight"), args.NumbersOf<T>("bias")),
         args.OutputShape());
  return results;
}

template <class T>
static Results RunBatchNormGrad(const Case& test_case) {
  return Gradients<T>(test_case, true);
}

template <class T>
static Results RunBatchNormEvalGrad(const Case& test_case) {
  return Gradients<T>(test_case, false);
}

template <class T>
static Results RunBatchNormUpdate(const Case& test_case) {
  const Arguments args(test_case);
  const T keep = static_cast<T>(1.0 - args.Number("momentum"));
  const T momentum = static_cast<T>(args.Number("momentum"));
  const T scale = static_cast<T>(args.Number("scale"));
  Numbers<T> running = args.NumbersOf<T>("running");
  const Numbers<T> value = args.NumbersOf<T>("value");
  for (size_t c = 0; c < running.size(); ++c) running[c] = running[c] * keep + momentum * (value[c] * scale);
  Results results;
  Append(results, running, args.Shape("running"));
  return results;
}

static const Op kOps[] = {{"batch_norm", REPDL_EITHER(RunBatchNorm)},
                          {"batch_norm_stats", REPDL_EITHER(RunBatchNormStats)},
                          {"batch_norm_eval", REPDL_EITHER(RunBatchNormEval)},
                          {"batch_norm_grad", REPDL_EITHER(RunBatchNormGrad)},
                          {"batch_norm_eval_grad", REPDL_EITHER(RunBatchNormEvalGrad)},
                          {"batch_norm_update", REPDL_EITHER(RunBatchNormUpdate)}};

}  // namespace repdl::reference
