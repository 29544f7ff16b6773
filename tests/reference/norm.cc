// SPDX-License-Identifier: MIT
#include <cmath>

#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// float32(1 / count).
float Scale(int64_t count) { return static_cast<float>(1.0 / static_cast<double>(count)); }

/// The contract's std.
Floats Deviation(const Floats& var, double eps) {
  Floats deviation(var.size());
  for (size_t c = 0; c < var.size(); ++c) deviation[c] = std::sqrt(var[c] + static_cast<float>(eps));
  return deviation;
}

/// ((x - mean) / std) * weight + bias.
Floats Normalize(const Floats& x, const Layout& layout, const Floats& mean, const Floats& deviation,
                 const Floats& weight, const Floats& bias) {
  Floats output(x.size());
  for (int64_t c = 0; c < layout.length; ++c) {
    for (int64_t row = 0; row < layout.rows(); ++row) {
      const int64_t at = layout.At(row, c);
      float value = (x[at] - mean[c]) / deviation[c];
      if (!weight.empty()) value = value * weight[c];
      if (!bias.empty()) value = value + bias[c];
      output[at] = value;
    }
  }
  return output;
}

Results Gradients(const Case& test_case, bool of_statistics) {
  const Arguments args(test_case);
  const Layout layout = Layout::Along(args.Shape("input"), 1);
  const Floats g = args.FloatsOf("grad_output");
  const Floats x = args.FloatsOf("input");
  const Floats mean = args.FloatsOf("mean");
  const Floats deviation = Deviation(args.FloatsOf("var"), args.Number("eps"));
  const Floats weight = args.FloatsOf("weight");
  const float r = Scale(layout.rows());

  Floats grad_input(x.size());
  Floats grad_weight(layout.length);
  Floats grad_bias(layout.length);
  for (int64_t c = 0; c < layout.length; ++c) {
    Sum weight_sum(args.TheOrder());
    Sum bias_sum(args.TheOrder());
    for (int64_t row = 0; row < layout.rows(); ++row) {
      const int64_t at = layout.At(row, c);
      const float h = (x[at] - mean[c]) / deviation[c];
      weight_sum.Add(g[at] * h);
      bias_sum.Add(g[at]);
    }
    grad_weight[c] = weight_sum.Result();
    grad_bias[c] = bias_sum.Result();

    const float factor = (weight.empty() ? 1.0f : weight[c]) / deviation[c];
    for (int64_t row = 0; row < layout.rows(); ++row) {
      const int64_t at = layout.At(row, c);
      const float h = (x[at] - mean[c]) / deviation[c];
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

static Results RunBatchNorm(const Case& test_case) {
  const Arguments args(test_case);
  const Layout layout = Layout::Along(args.Shape("input"), 1);
  const Floats x = args.FloatsOf("input");
  const float r = Scale(layout.rows());
  Floats mean(layout.length);
  Floats var(layout.length);
  for (int64_t c = 0; c < layout.length; ++c) {
    Sum sum(args.TheOrder());
    for (int64_t row = 0; row < layout.rows(); ++row) sum.Add(x[layout.At(row, c)]);
    mean[c] = sum.Result() * r;
    Sum squares(args.TheOrder());
    for (int64_t row = 0; row < layout.rows(); ++row) {
      const float difference = x[layout.At(row, c)] - mean[c];
      squares.Add(difference * difference);
    }
    var[c] = squares.Result() * r;
  }
  const Floats deviation = Deviation(var, args.Number("eps"));
  Results results;
  Append(results, Normalize(x, layout, mean, deviation, args.FloatsOf("weight"), args.FloatsOf("bias")),
         args.OutputShape(0));
  Append(results, mean, args.OutputShape(1));
  Append(results, var, args.OutputShape(2));
  return results;
}

static Results RunBatchNormEval(const Case& test_case) {
  const Arguments args(test_case);
  const Layout layout = Layout::Along(args.Shape("input"), 1);
  const Floats deviation = Deviation(args.FloatsOf("var"), args.Number("eps"));
  Results results;
  Append(results,
         Normalize(args.FloatsOf("input"), layout, args.FloatsOf("mean"), deviation, args.FloatsOf("weight"),
                   args.FloatsOf("bias")),
         args.OutputShape());
  return results;
}

static Results RunBatchNormGrad(const Case& test_case) { return Gradients(test_case, true); }

static Results RunBatchNormEvalGrad(const Case& test_case) { return Gradients(test_case, false); }

static Results RunBatchNormUpdate(const Case& test_case) {
  const Arguments args(test_case);
  const float keep = static_cast<float>(1.0 - args.Number("momentum"));
  const float momentum = static_cast<float>(args.Number("momentum"));
  const float scale = static_cast<float>(args.Number("scale"));
  Floats running = args.FloatsOf("running");
  const Floats value = args.FloatsOf("value");
  for (size_t c = 0; c < running.size(); ++c) running[c] = running[c] * keep + momentum * (value[c] * scale);
  Results results;
  Append(results, running, args.Shape("running"));
  return results;
}

static const Op kOps[] = {{"batch_norm", RunBatchNorm},
                          {"batch_norm_eval", RunBatchNormEval},
                          {"batch_norm_grad", RunBatchNormGrad},
                          {"batch_norm_eval_grad", RunBatchNormEvalGrad},
                          {"batch_norm_update", RunBatchNormUpdate}};

}  // namespace repdl::reference
