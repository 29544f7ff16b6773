// SPDX-License-Identifier: MIT
#include <cmath>
#include <string>

#include "elementwise.h"
#include "functions.h"
#include "op.h"
#include "tensors.h"

namespace repdl::reference {
namespace {

/// A step on tensors of numbers: its gradient, and the tensors that it changes, in the order of the arguments.
template <class T>
class Step {
 public:
  explicit Step(const Case& test_case) : args(test_case) {
    dtype_ = args.Type("param");
    grad_ = args.template NumbersOf<T>("grad");
    for (const ArgInfo& arg : test_case.op().args) {
      if (!arg.IsMutated() || !args.Has(arg.name)) continue;
      names_.emplace_back(arg.name);
      state_.push_back(args.template NumbersOf<T>(arg.name));
    }
  }

  size_t size() const { return grad_.size(); }
  T& At(std::string_view name, size_t i) {
    size_t at = 0;
    while (names_[at] != name) ++at;
    return state_[at][i];
  }
  T Number(std::string_view name) const { return static_cast<T>(args.Number(name)); }
  T Round(T x) const { return RoundedTo(dtype_, x); }

  T Gradient(size_t i, bool decays) {
    const T g = args.Flag("maximize") ? -grad_[i] : grad_[i];
    if (!decays || args.Number("weight_decay") == 0) return g;
    const T decay = At("param", i) * Number("weight_decay");
    return Round(g + decay);
  }

  /// param + (x * factor) / denominator
  void Move(size_t i, T x, double factor, T denominator) {
    const T scaled = x * static_cast<T>(factor);
    const T quotient = scaled / denominator;
    At("param", i) = Round(At("param", i) + quotient);
  }

  Results Packed() const {
    Results results;
    for (const Numbers<T>& numbers : state_) Append(results, numbers, args.Shape("param"), dtype_);
    return results;
  }

  const Arguments args;

 private:
  DType dtype_;
  Numbers<T> grad_;
  std::vector<std::string> names_;
  std::vector<Numbers<T>> state_;
};

double PowerOf(double base, double exponent) { return Rounded<double>(*FindFunction("pow"), base, exponent); }

}  // namespace

template <class T>
static Results RunFusedAdamStep(const Case& test_case) {
  Step<T> step(test_case);
  const Arguments& args = step.args;
  const double lr = args.Number("lr"), beta1 = args.Number("beta1"), beta2 = args.Number("beta2");
  const double count = args.Number("step"), weight_decay = args.Number("weight_decay");
  const bool decoupled = args.Flag("decoupled");
  const T weight = static_cast<T>(1 - beta1), rest = 1 - weight, rest2 = static_cast<T>(1 - beta2);
  const T root = static_cast<T>(std::sqrt(1 - PowerOf(beta2, count)));
  const double minus_step_size = -(lr / (1 - PowerOf(beta1, count)));
  for (size_t i = 0; i < step.size(); ++i) {
    const T g = step.Gradient(i, !decoupled);
    T& param = step.At("param", i);
    if (decoupled && weight_decay != 0) param = step.Round(param * static_cast<T>(1 - lr * weight_decay));

    T& mean = step.At("exp_avg", i);
    const T away = g - mean;
    if (std::abs(weight) < static_cast<T>(0.5)) {
      const T part = away * weight;
      mean = step.Round(mean + part);
    } else {
      const T part = away * rest;
      mean = step.Round(g - part);
    }

    T& square = step.At("exp_avg_sq", i);
    square = step.Round(square * step.Number("beta2"));
    const T scaled = g * rest2, added = scaled * g;
    square = step.Round(square + added);

    T v = square;
    if (args.Has("max_exp_avg_sq")) v = step.At("max_exp_avg_sq", i) = LargerOf(step.At("max_exp_avg_sq", i), square);
    T denominator = step.Round(std::sqrt(v));
    denominator = step.Round(denominator / root);
    denominator = step.Round(denominator + step.Number("eps"));
    step.Move(i, mean, minus_step_size, denominator);
  }
  return step.Packed();
}

template <class T>
static Results RunFusedAdagradStep(const Case& test_case) {
  Step<T> step(test_case);
  const Arguments& args = step.args;
  const double decay = (args.Number("step") - 1) * args.Number("lr_decay");
  for (size_t i = 0; i < step.size(); ++i) {
    const T g = step.Gradient(i, true), square = g * g;
    T& sum = step.At("state_sum", i);
    sum = step.Round(sum + square);
    const T denominator = step.Round(step.Round(std::sqrt(sum)) + step.Number("eps"));
    step.Move(i, g, -(args.Number("lr") / (1 + decay)), denominator);
  }
  return step.Packed();
}

template <class T>
static Results RunFusedSgdStep(const Case& test_case) {
  Step<T> step(test_case);
  const Arguments& args = step.args;
  for (size_t i = 0; i < step.size(); ++i) {
    T g = step.Gradient(i, true);
    if (args.Has("momentum_buffer")) {
      T& buffer = step.At("momentum_buffer", i);
      if (args.Flag("first_step")) {
        buffer = g;
      } else {
        buffer = step.Round(buffer * step.Number("momentum"));
        const T added = g * static_cast<T>(1 - args.Number("dampening"));
        buffer = step.Round(buffer + added);
      }
      const T ahead = buffer * step.Number("momentum");
      g = args.Flag("nesterov") ? step.Round(g + ahead) : buffer;
    }
    const T moved = g * static_cast<T>(-args.Number("lr"));
    step.At("param", i) = step.Round(step.At("param", i) + moved);
  }
  return step.Packed();
}

static const Op kOps[] = {{"fused_adam_step", REPDL_EITHER(RunFusedAdamStep)},
                          {"fused_adagrad_step", REPDL_EITHER(RunFusedAdagradStep)},
                          {"fused_sgd_step", REPDL_EITHER(RunFusedSgdStep)}};

}  // namespace repdl::reference
