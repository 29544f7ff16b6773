// SPDX-License-Identifier: MIT
#include "optim.h"

#include <cmath>

#include "functions.h"
#include "op.h"

namespace repdl::reference {

template <class T>
void AdamStep(AdamState<T>& state, const Numbers<T>& grad, const AdamOptions& options) {
  const auto rounded = [](double x) { return static_cast<T>(x); };
  const double power1 = Power(options.beta1, options.step);
  const double power2 = Power(options.beta2, options.step);
  const T shrink = rounded(1.0 - options.lr * options.weight_decay);
  const T weight_decay = rounded(options.weight_decay);
  const T beta1 = rounded(options.beta1);
  const T beta2 = rounded(options.beta2);
  const T rest1 = rounded(1.0 - options.beta1);
  const T rest2 = rounded(1.0 - options.beta2);
  const T root = rounded(std::sqrt(1.0 - power2));
  const T eps = rounded(options.eps);
  const T step_size = rounded(-(options.lr / (1.0 - power1)));

  for (size_t i = 0; i < state.param.size(); ++i) {
    T& param = state.param[i];
    T& exp_avg = state.exp_avg[i];
    T& exp_avg_sq = state.exp_avg_sq[i];
    T g = options.maximize ? -grad[i] : grad[i];

    if (options.weight_decay != 0.0) {
      if (options.decoupled) {
        param = param * shrink;
      } else {
        g = std::fma(weight_decay, param, g);
      }
    }
    exp_avg = std::fma(rest1, g, exp_avg * beta1);
    exp_avg_sq = exp_avg_sq * beta2 + (g * g) * rest2;
    T v = exp_avg_sq;
    if (!state.max_exp_avg_sq.empty()) {
      T& max = state.max_exp_avg_sq[i];
      if (exp_avg_sq > max || std::isnan(exp_avg_sq)) max = exp_avg_sq;
      v = max;
    }
    const T denom = std::sqrt(v) / root + eps;
    param = param + (exp_avg / denom) * step_size;
  }
}

template void AdamStep(AdamState<float>&, const Numbers<float>&, const AdamOptions&);

namespace {

template <class T>
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
  AdamState<T> state = {args.NumbersOf<T>("param"), args.NumbersOf<T>("exp_avg"), args.NumbersOf<T>("exp_avg_sq"),
                        args.NumbersOf<T>("max_exp_avg_sq")};
  AdamStep(state, args.NumbersOf<T>("grad"), options);

  const IntList shape = args.Shape("param");
  Results results;
  Append(results, state.param, shape);
  Append(results, state.exp_avg, shape);
  Append(results, state.exp_avg_sq, shape);
  if (args.Has("max_exp_avg_sq")) Append(results, state.max_exp_avg_sq, shape);
  return results;
}

}  // namespace

template <class T>
static Results RunAdamStep(const Case& test_case) {
  return RunAdam<T>(test_case, false);
}

template <class T>
static Results RunAdamWStep(const Case& test_case) {
  return RunAdam<T>(test_case, true);
}

template <class T>
static Results RunSgdStep(const Case& test_case) {
  const Arguments args(test_case);
  const bool has_buffer = args.Has("momentum_buffer");
  const T lr = static_cast<T>(-args.Number("lr"));
  const T momentum = static_cast<T>(args.Number("momentum"));
  const T rest = static_cast<T>(1.0 - args.Number("dampening"));
  const T weight_decay = static_cast<T>(args.Number("weight_decay"));
  Numbers<T> param = args.NumbersOf<T>("param");
  Numbers<T> buffer = args.NumbersOf<T>("momentum_buffer");
  const Numbers<T> grad = args.NumbersOf<T>("grad");

  for (size_t i = 0; i < param.size(); ++i) {
    T g = args.Flag("maximize") ? -grad[i] : grad[i];
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

static const Op kOps[] = {{"adam_step", REPDL_EITHER(RunAdamStep)},
                          {"adamw_step", REPDL_EITHER(RunAdamWStep)},
                          {"sgd_step", REPDL_EITHER(RunSgdStep)}};

}  // namespace repdl::reference
