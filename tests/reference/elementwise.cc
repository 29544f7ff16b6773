// SPDX-License-Identifier: MIT
#include "elementwise.h"

#include <cmath>

#include "functions.h"
#include "incomplete_gamma.h"
#include "map.h"
#include "op.h"

namespace repdl::reference {

template <class T>
static Results RunUniform(const Case& test_case) {
  const Arguments args(test_case);
  const T low = static_cast<T>(args.Number("low"));
  const T high = static_cast<T>(args.Number("high"));
  const T range = high - low;
  return Map<T>(test_case, [=](T x) { return std::fma(x, range, low); });
}

static Results RunBoxMuller(const Case& test_case) {
  const Arguments args(test_case);
  const Floats input = args.FloatsOf("input");
  const float mean = static_cast<float>(args.Number("mean")), std = static_cast<float>(args.Number("std"));
  Floats values(input.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_second = i % 16 >= 8;
    const size_t first = is_second ? i - 8 : i;
    const float u = input[first], a = input[first + 8];
    const float radius = std::sqrt(Log(1.0f - u) * -2.0f);
    const float product = radius * Rounded(*FindFunction(is_second ? "sinpi" : "cospi"), 2.0f * a);
    const float scaled = product * std;
    values[i] = scaled + mean;
  }
  Results results;
  Append(results, std::move(values), args.Shape("input"));
  return results;
}

/// Two products of float32 or float64, each rounded; of other types the exact value, rounded once.
template <class T>
static Results RunCube(const Case& test_case) {
  const DType dtype = Arguments(test_case).OutputType();
  return Map<T>(test_case, [&](T x) {
    if (dtype != DType::kFloat32 && dtype != DType::kFloat64)
      return Rounded<T>(*FindFunction("pow"), x, T{3}, FormatOf(dtype));
    const T squared = x * x;
    return squared * x;
  });
}

template <class T>
static Results RunRelu(const Case& test_case) {
  const Arguments args(test_case);
  Results results;
  Append(results, Relu(args.NumbersOf<T>("input")), args.OutputShape(), args.OutputType());
  return results;
}

template <class T>
static Results RunReluGrad(const Case& test_case) {
  return MapTwo<T>(test_case, "grad_output", "output", ReluGrad<T>);
}

template <class T>
static Results RunDiv(const Case& test_case) {
  return MapTwo<T>(test_case, "input", "other", [](const Numbers<T>& input, const Numbers<T>& other) {
    Numbers<T> output(input.size());
    for (size_t i = 0; i < output.size(); ++i) output[i] = input[i] / other[i];
    return output;
  });
}

template <class T>
static Results RunMul(const Case& test_case) {
  return MapTwo<T>(test_case, "input", "other", [](const Numbers<T>& input, const Numbers<T>& other) {
    Numbers<T> output(input.size());
    for (size_t i = 0; i < output.size(); ++i) output[i] = input[i] * other[i];
    return output;
  });
}

/// fmod and remainder.
template <class T>
static Results RunRemainder(const Case& test_case) {
  const bool is_down = test_case.op().name == "remainder";
  return MapTwo<T>(test_case, "input", "other", [is_down](const Numbers<T>& input, const Numbers<T>& other) {
    Numbers<T> output(input.size());
    for (size_t i = 0; i < output.size(); ++i) {
      T rest = std::fmod(input[i], other[i]);
      if (is_down && rest != 0 && (rest < 0) != (other[i] < 0)) rest += other[i];
      output[i] = rest;
    }
    return output;
  });
}

/// igamma and igammac, in double.
template <class T>
static Results RunIncompleteGamma(const Case& test_case) {
  const bool is_upper = test_case.op().name == "igammac";
  return MapTwo<T>(test_case, "input", "other", [&](const Numbers<T>& input, const Numbers<T>& other) {
    Numbers<T> output(input.size());
    for (size_t i = 0; i < output.size(); ++i)
      output[i] = static_cast<T>(IncompleteGamma(input[i], other[i], is_upper));
    return output;
  });
}

/// One of two numbers; the smaller one is the larger of the negated ones.
template <class T>
static Results RunSelection(const Case& test_case) {
  const std::string_view op = test_case.op().name;
  return MapTwo<T>(test_case, "input", "other", [op](const Numbers<T>& input, const Numbers<T>& other) {
    Numbers<T> output(input.size());
    for (size_t i = 0; i < output.size(); ++i) {
      const T x = input[i];
      const T y = other[i];
      if (op == "clamp_min" || op == "clamp_max") {
        const bool beyond = op == "clamp_min" ? x < y : x > y;
        output[i] = beyond || (std::isnan(y) && !std::isnan(x)) ? y : x;
      } else if (op.starts_with('f') && (std::isnan(x) || std::isnan(y))) {
        output[i] = std::isnan(x) ? y : x;
      } else {
        const bool larger = op == "maximum" || op == "fmax";
        output[i] = larger ? LargerOf(x, y) : -LargerOf(-x, -y);
      }
    }
    return output;
  });
}

/// clamp and clamp_tensor.
template <class T>
static Results RunClamp(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const bool by_tensor = test_case.op().name == "clamp_tensor";
  const auto bound = [&](std::string_view name) {
    if (by_tensor) return Broadcast(args.NumbersOf<T>(name), args.Shape(name), shape);
    return Numbers<T>(Size(shape), static_cast<T>(args.Number(name)));
  };
  Numbers<T> output = Broadcast(args.NumbersOf<T>("input"), args.Shape("input"), shape);
  const Numbers<T> low = bound("min");
  const Numbers<T> high = bound("max");
  for (size_t i = 0; i < output.size(); ++i) {
    T& x = output[i];
    if (std::isnan(x)) continue;
    if (x < low[i] || std::isnan(low[i])) x = low[i];
    if (x > high[i] || std::isnan(high[i])) x = high[i];
  }
  Results results;
  Append(results, output, shape, args.OutputType());
  return results;
}

/// An op of functions.def; a derivative is rounded, then multiplied.
template <class T>
static Results RunFunction(const Case& test_case) {
  const OpInfo& op = test_case.op();
  const Function& function = *FindFunction(op.name);
  if (function.kind == Function::Kind::kUnary) {
    const Format& format = FormatOf(Arguments(test_case).OutputType());
    return Map<T>(test_case, [&](T x) { return Rounded<T>(function, x, T{0}, format); });
  }
  return MapTwo<T>(test_case, op.args[0].name, op.args[1].name, [&](const Numbers<T>& first, const Numbers<T>& second) {
    const Format& format = sizeof(T) == 8 ? kFloat64 : kFloat32;  // a float is rounded again to a narrower type
    Numbers<T> output(first.size());
    for (size_t i = 0; i < output.size(); ++i) {
      const bool is_slope = function.kind == Function::Kind::kDerivative;
      output[i] = is_slope ? first[i] * Rounded<T>(function, second[i], 0, format)
                           : Rounded<T>(function, first[i], second[i], format);
    }
    return output;
  });
}

static const std::vector<Op> kFunctions = [] {
  std::vector<Op> ops;
  for (const Function& function : Functions()) ops.emplace_back(function.name, REPDL_EITHER(RunFunction));
  return ops;
}();

/// grad_output * slope(output), in double, rounded to T at the end.
template <class T, class Slope>
static Results RunGradFromOutput(const Case& test_case, Slope slope) {
  return MapTwo<T>(test_case, "grad_output", "output", [&](const Numbers<T>& grad_output, const Numbers<T>& output) {
    Numbers<T> grad_input(output.size());
    for (size_t i = 0; i < output.size(); ++i) grad_input[i] = static_cast<T>(grad_output[i] * slope(output[i]));
    return grad_input;
  });
}

template <class T>
static Results RunSigmoidGrad(const Case& test_case) {
  return RunGradFromOutput<T>(test_case, [](double y) { return (1 - y) * y; });
}

/// 1 - y^2 is rounded once.
template <class T>
static Results RunTanhGrad(const Case& test_case) {
  return RunGradFromOutput<T>(test_case, [](double y) { return std::fma(-y, y, 1.0); });
}

template <class T>
static Results RunAddOrSub(const Case& test_case) {
  const auto alpha = static_cast<T>(Arguments(test_case).Number("alpha"));
  const bool subtracts = test_case.op().name == "sub";
  return MapTwo<T>(test_case, "input", "other", [=](const Numbers<T>& input, const Numbers<T>& other) {
    Numbers<T> output(input.size());
    for (size_t i = 0; i < output.size(); ++i) {
      const T product = other[i] * alpha;
      output[i] = subtracts ? input[i] - product : input[i] + product;
    }
    return output;
  });
}

template <class T>
static Results RunLerp(const Case& test_case) {
  const auto weight = static_cast<T>(Arguments(test_case).Number("weight"));
  return MapTwo<T>(test_case, "input", "end", [=](const Numbers<T>& input, const Numbers<T>& end) {
    Numbers<T> output(input.size());
    for (size_t i = 0; i < output.size(); ++i) {
      const T difference = end[i] - input[i];
      if (std::fabs(weight) < 0.5) {
        const T step = difference * weight;
        output[i] = input[i] + step;
      } else {
        const T rest = 1 - weight;
        const T step = difference * rest;
        output[i] = end[i] - step;
      }
    }
    return output;
  });
}

template <class T>
static Results RunLerpTensor(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  Numbers<T> operands[3];
  const std::string_view names[] = {"input", "end", "weight"};
  for (int t = 0; t < 3; ++t) operands[t] = Broadcast(args.NumbersOf<T>(names[t]), args.Shape(names[t]), shape);
  Numbers<T> output(operands[0].size());
  for (size_t i = 0; i < output.size(); ++i) {
    const T start = operands[0][i];
    const T end = operands[1][i];
    const T weight = operands[2][i];
    const bool is_near = std::fabs(weight) < 0.5;
    const T difference = end - start;
    const T step = difference * (is_near ? weight : 1 - weight);
    output[i] = is_near ? start + step : end - step;
  }
  Results results;
  Append(results, output, shape, args.OutputType());
  return results;
}

/// addcmul and addcdiv.
template <class T>
static Results RunAddc(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const auto value = static_cast<T>(args.Number("value"));
  Numbers<T> operands[3];
  const std::string_view names[] = {"input", "tensor1", "tensor2"};
  for (int t = 0; t < 3; ++t) operands[t] = Broadcast(args.NumbersOf<T>(names[t]), args.Shape(names[t]), shape);
  Numbers<T> output(operands[0].size());
  for (size_t i = 0; i < output.size(); ++i) {
    const T scaled = operands[1][i] * value;
    const T term = test_case.op().name == "addcmul" ? scaled * operands[2][i] : scaled / operands[2][i];
    output[i] = operands[0][i] + term;
  }
  Results results;
  Append(results, output, shape, args.OutputType());
  return results;
}

/// smooth_l1, huber and their gradients.
template <class T>
static Results RunPiecewiseLoss(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const std::string_view op = test_case.op().name;
  const bool squared_at_bound = op.starts_with("huber"), is_gradient = op.ends_with("_grad");
  const double given = args.Number(squared_at_bound ? "delta" : "beta");
  const T bound = static_cast<T>(given);
  const T half = static_cast<T>(given / 2);
  const Numbers<T> input = Broadcast(args.NumbersOf<T>("input"), args.Shape("input"), shape);
  const Numbers<T> target = Broadcast(args.NumbersOf<T>("target"), args.Shape("target"), shape);
  Numbers<T> output(input.size());
  if (is_gradient) {
    const Numbers<T> grad = Broadcast(args.NumbersOf<T>("grad_output"), args.Shape("grad_output"), shape);
    const T part = static_cast<T>(args.Number("part"));
    for (size_t i = 0; i < output.size(); ++i) {
      const T away = input[i] - target[i];
      T far = part * grad[i];
      if (squared_at_bound) far = far * bound;
      T near = part * away;
      near = near * grad[i];
      if (!squared_at_bound) near = near / bound;
      output[i] = away <= -bound ? -far : away >= bound ? far : near;
    }
  } else {
    for (size_t i = 0; i < output.size(); ++i) {
      const T away = std::fabs(input[i] - target[i]);
      const T halved = away * T{0.5};
      const T square = halved * away;
      const T beyond = away - half;
      if (squared_at_bound) {
        output[i] = away <= bound ? square : beyond * bound;
      } else {
        output[i] = away < bound ? square / bound : beyond;
      }
    }
  }
  Results results;
  Append(results, output, shape, args.OutputType());
  return results;
}

/// binary_cross_entropy, soft_margin and their gradients.
template <class T>
static Results RunLogLoss(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const std::string_view op = test_case.op().name;
  const bool is_entropy = op.starts_with("binary_cross_entropy");
  const Format& format = sizeof(T) == 8 ? kFloat64 : kFloat32;  // a float is rounded again to a narrower type
  const auto function = [&](std::string_view name, T x) { return Rounded<T>(*FindFunction(name), x, 0, format); };
  const Numbers<T> input = Broadcast(args.NumbersOf<T>("input"), args.Shape("input"), shape);
  const Numbers<T> target = Broadcast(args.NumbersOf<T>("target"), args.Shape("target"), shape);
  Numbers<T> output(input.size());
  Numbers<T> weight;
  if (is_entropy && args.Has("weight")) {
    weight = Broadcast(args.NumbersOf<T>("weight"), args.Shape("weight"), shape);
  }
  if (op.ends_with("_grad")) {
    const Numbers<T> grad = Broadcast(args.NumbersOf<T>("grad_output"), args.Shape("grad_output"), shape);
    const T part = static_cast<T>(args.Number("part"));
    for (size_t i = 0; i < output.size(); ++i) {
      const T x = input[i];
      const T y = target[i];
      const T g = part * grad[i];
      if (is_entropy) {
        const T rest = 1 - x;
        T spread = rest * x;
        if (spread < static_cast<T>(1e-12)) spread = static_cast<T>(1e-12);
        const T away = x - y;
        const T product = g * away;
        output[i] = product / spread;
      } else {
        const T product = -y * function("sigmoid", -y * x);
        output[i] = product * g;
      }
    }
  } else {
    for (size_t i = 0; i < output.size(); ++i) {
      const T x = input[i];
      const T y = target[i];
      if (is_entropy) {
        T off = function("log1p", -x);
        T on = function("log", x);
        if (off < -100) off = -100;
        if (on < -100) on = -100;
        const T less = y - 1;
        const T first = off * less;
        const T second = on * y;
        output[i] = first - second;
      } else {
        output[i] = function("softplus", -y * x);
      }
    }
  }
  for (size_t i = 0; i < weight.size(); ++i) output[i] = output[i] * weight[i];
  Results results;
  Append(results, output, shape, args.OutputType());
  return results;
}

static const Op kOps[] = {{"box_muller", RunBoxMuller},
                          {"uniform", REPDL_EITHER(RunUniform)},
                          {"cube", REPDL_EITHER(RunCube)},
                          {"relu", REPDL_EITHER(RunRelu)},
                          {"relu_grad", REPDL_EITHER(RunReluGrad)},
                          {"div", REPDL_EITHER(RunDiv)},
                          {"fmod", REPDL_EITHER(RunRemainder)},
                          {"remainder", REPDL_EITHER(RunRemainder)},
                          {"igamma", REPDL_EITHER(RunIncompleteGamma)},
                          {"igammac", REPDL_EITHER(RunIncompleteGamma)},
                          {"mul", REPDL_EITHER(RunMul)},
                          {"sigmoid_grad", REPDL_EITHER(RunSigmoidGrad)},
                          {"tanh_grad", REPDL_EITHER(RunTanhGrad)},
                          {"add", REPDL_EITHER(RunAddOrSub)},
                          {"sub", REPDL_EITHER(RunAddOrSub)},
                          {"addcmul", REPDL_EITHER(RunAddc)},
                          {"addcdiv", REPDL_EITHER(RunAddc)},
                          {"lerp", REPDL_EITHER(RunLerp)},
                          {"lerp_tensor", REPDL_EITHER(RunLerpTensor)},
                          {"maximum", REPDL_EITHER(RunSelection)},
                          {"minimum", REPDL_EITHER(RunSelection)},
                          {"fmax", REPDL_EITHER(RunSelection)},
                          {"fmin", REPDL_EITHER(RunSelection)},
                          {"clamp_min", REPDL_EITHER(RunSelection)},
                          {"clamp_max", REPDL_EITHER(RunSelection)},
                          {"clamp", REPDL_EITHER(RunClamp)},
                          {"clamp_tensor", REPDL_EITHER(RunClamp)},
                          {"binary_cross_entropy", REPDL_EITHER(RunLogLoss)},
                          {"binary_cross_entropy_grad", REPDL_EITHER(RunLogLoss)},
                          {"soft_margin", REPDL_EITHER(RunLogLoss)},
                          {"soft_margin_grad", REPDL_EITHER(RunLogLoss)},
                          {"smooth_l1", REPDL_EITHER(RunPiecewiseLoss)},
                          {"smooth_l1_grad", REPDL_EITHER(RunPiecewiseLoss)},
                          {"huber", REPDL_EITHER(RunPiecewiseLoss)},
                          {"huber_grad", REPDL_EITHER(RunPiecewiseLoss)}};

}  // namespace repdl::reference
