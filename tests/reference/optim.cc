// SPDX-License-Identifier: MIT
#include "optim.h"

#include <cmath>

#include "functions.h"
#include "op.h"

namespace repdl::reference {

void AdamStep(AdamState& state, const Floats& grad, const AdamOptions& options) {
  const auto rounded = [](double x) { return static_cast<float>(x); };
  const double power1 = Power(options.beta1, options.step);
  const double power2 = Power(options.beta2, options.step);
  const float shrink = rounded(1.0 - options.lr * options.weight_decay);
  const float weight_decay = rounded(options.weight_decay);
  const float beta1 = rounded(options.beta1);
  const float beta2 = rounded(options.beta2);
  const float rest1 = rounded(1.0 - options.beta1);
  const float rest2 = rounded(1.0 - options.beta2);
  const float root = rounded(std::sqrt(1.0 - power2));
  const float eps = rounded(options.eps);
  const float step_size = rounded(-(options.lr / (1.0 - power1)));

  for (size_t i = 0; i < state.param.size(); ++i) {
    float& param = state.param[i];
    float& exp_avg = state.exp_avg[i];
    float& exp_avg_sq = state.exp_avg_sq[i];
    float g = options.maximize ? -grad[i] : grad[i];

    if (options.weight_decay != 0.0) {
      if (options.decoupled) {
        param = param * shrink;
      } else {
        g = std::fma(weight_decay, param, g);
      }
    }
    exp_avg = std::fma(rest1, g, exp_avg * beta1);
    exp_avg_sq = exp_avg_sq * beta2 + (g * g) * rest2;
    float v = exp_avg_sq;
    if (!state.max_exp_avg_sq.empty()) {
      float& max = state.max_exp_avg_sq[i];
      if (exp_avg_sq > max || std::isnan(exp_avg_sq)) max = exp_avg_sq;
      v = max;
    }
    const float denom = std::sqrt(v) / root + eps;
    param = param + (exp_avg / denom) * step_size;
  }
}

namespace {

Results RunAdam(const Case& test_case, bool decoupled) {
  const Arguments args(test_case);
  AdamOptions options;
  options.step = args.Int("step");
  options.lr = args.Number("lr");
  options.beta1 = args.Number("beta1");
  options.beta2 = args.Number("beta2");
  options.eps = args.Number("eps");
  options.weight_decay = args.Number("weight_decay");
  options.maximize = args.Flag("maximize");
  options.decoupled = decoupled;
  AdamState state = {args.FloatsOf("param"), args.FloatsOf("exp_avg"), args.FloatsOf("exp_avg_sq"),
                     args.FloatsOf("max_exp_avg_sq")};
  AdamStep(state, args.FloatsOf("grad"), options);

  const IntList shape = args.Shape("param");
  Results results;
  Append(results, state.param, shape);
  Append(results, state.exp_avg, shape);
  Append(results, state.exp_avg_sq, shape);
  if (args.Has("max_exp_avg_sq")) Append(results, state.max_exp_avg_sq, shape);
  return results;
}

}  // namespace

static Results RunAdamStep(const Case& test_case) { return RunAdam(test_case, false); }

static Results RunAdamWStep(const Case& test_case) { return RunAdam(test_case, true); }

static Results RunSgdStep(const Case& test_case) {
  const Arguments args(test_case);
  const bool has_buffer = args.Has("momentum_buffer");
  const float lr = static_cast<float>(-args.Number("lr"));
  const float momentum = static_cast<float>(args.Number("momentum"));
  const float rest = static_cast<float>(1.0 - args.Number("dampening"));
  const float weight_decay = static_cast<float>(args.Number("weight_decay"));
  Floats param = args.FloatsOf("param");
  Floats buffer = args.FloatsOf("momentum_buffer");
  const Floats grad = args.FloatsOf("grad");

  for (size_t i = 0; i < param.size(); ++i) {
    float g = args.Flag("maximize") ? -grad[i] : grad[i];
    if (args.Number("weight_decay") != 0.0) g = std::fma(weight_decay, param[i], g);
    if (has_buffer) {
      buffer[i] = args.Flag("first_step") ? g : std::fma(rest, g, buffer[i] * momentum);
      g = args.Flag("nesterov") ? std::fma(momentum, buffer[i], g) : buffer[i];
    }
    param[i] = std::fma(lr, g, param[i]);
  }
  Results results;
  Append(results, param, args.Shape("param"));
  if (has_buffer) Append(results, buffer, args.Shape("momentum_buffer"));
  return results;
}

static const Op kOps[] = {{"adam_step", RunAdamStep}, {"adamw_step", RunAdamWStep}, {"sgd_step", RunSgdStep}};

}  // namespace repdl::reference
