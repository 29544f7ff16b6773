// SPDX-License-Identifier: MIT
#include "elementwise.h"

#include <cmath>

#include "functions.h"
#include "op.h"

namespace repdl::reference {

Floats Relu(Floats values) {
  for (float& x : values) {
    if (x < 0.0f) x = 0.0f;
  }
  return values;
}

Floats ReluGrad(const Floats& grad_output, const Floats& output) {
  Floats grad_input(output.size());
  for (size_t i = 0; i < output.size(); ++i) grad_input[i] = output[i] <= 0.0f ? 0.0f : grad_output[i];
  return grad_input;
}

float LargerOf(float x, float y) {
  if (std::isnan(x)) return x;
  if (std::isnan(y)) return y;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

namespace {

template <class Function>
Results Map(const Case& test_case, Function function) {
  const Arguments args(test_case);
  Floats values = args.FloatsOf("input");
  for (float& x : values) x = function(x);
  Results results;
  Append(results, values, args.OutputShape(), args.OutputType());
  return results;
}

/// The tensor with shape `from`, broadcast to the shape `to`.
Floats Broadcast(const Floats& data, const IntList& from, const IntList& to) {
  Floats result(Size(to));
  for (int64_t i = 0; i < Size(to); ++i) {
    int64_t rest = i;
    int64_t at = 0;
    int64_t step = 1;
    for (int d = 1; d <= from.size(); ++d) {  // from the last dimension to the first
      const int64_t length = from[from.size() - d];
      if (length != 1) at += rest % to[to.size() - d] * step;
      rest /= to[to.size() - d];
      step *= length;
    }
    result[i] = data[at];
  }
  return result;
}

/// function(first, second) of two tensors that are broadcast to the shape of the output.
template <class Function>
Results MapTwo(const Case& test_case, std::string_view first, std::string_view second, Function function) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  Results results;
  Append(results,
         function(Broadcast(args.FloatsOf(first), args.Shape(first), shape),
                  Broadcast(args.FloatsOf(second), args.Shape(second), shape)),
         shape, args.OutputType());
  return results;
}

}  // namespace

static Results RunUniform(const Case& test_case) {
  const Arguments args(test_case);
  const float low = static_cast<float>(args.Number("low"));
  const float high = static_cast<float>(args.Number("high"));
  const float range = high - low;
  return Map(test_case, [=](float x) { return std::fma(x, range, low); });
}

/// Two products of float32, each rounded; of other types the exact value, rounded once.
static Results RunCube(const Case& test_case) {
  const DType dtype = Arguments(test_case).OutputType();
  return Map(test_case, [&](float x) {
    if (dtype != DType::kFloat32) return Rounded(*FindFunction("pow"), x, 3.0f, FormatOf(dtype));
    const float squared = x * x;
    return squared * x;
  });
}

static Results RunRelu(const Case& test_case) {
  const Arguments args(test_case);
  Results results;
  Append(results, Relu(args.FloatsOf("input")), args.OutputShape(), args.OutputType());
  return results;
}

static Results RunReluGrad(const Case& test_case) { return MapTwo(test_case, "grad_output", "output", ReluGrad); }

static Results RunDiv(const Case& test_case) {
  return MapTwo(test_case, "input", "other", [](const Floats& input, const Floats& other) {
    Floats output(input.size());
    for (size_t i = 0; i < output.size(); ++i) output[i] = input[i] / other[i];
    return output;
  });
}

static Results RunMul(const Case& test_case) {
  return MapTwo(test_case, "input", "other", [](const Floats& input, const Floats& other) {
    Floats output(input.size());
    for (size_t i = 0; i < output.size(); ++i) output[i] = input[i] * other[i];
    return output;
  });
}

/// One of two numbers; the smaller one is the larger of the negated ones.
static Results RunSelection(const Case& test_case) {
  const std::string_view op = test_case.op().name;
  return MapTwo(test_case, "input", "other", [op](const Floats& input, const Floats& other) {
    Floats output(input.size());
    for (size_t i = 0; i < output.size(); ++i) {
      const float x = input[i];
      const float y = other[i];
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
static Results RunClamp(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const bool by_tensor = test_case.op().name == "clamp_tensor";
  const auto bound = [&](std::string_view name) {
    if (by_tensor) return Broadcast(args.FloatsOf(name), args.Shape(name), shape);
    return Floats(Size(shape), static_cast<float>(args.Number(name)));
  };
  Floats output = Broadcast(args.FloatsOf("input"), args.Shape("input"), shape);
  const Floats low = bound("min");
  const Floats high = bound("max");
  for (size_t i = 0; i < output.size(); ++i) {
    float& x = output[i];
    if (std::isnan(x)) continue;
    if (x < low[i] || std::isnan(low[i])) x = low[i];
    if (x > high[i] || std::isnan(high[i])) x = high[i];
  }
  Results results;
  Append(results, output, shape, args.OutputType());
  return results;
}

/// An op of functions.def; a derivative is rounded, then multiplied.
static Results RunFunction(const Case& test_case) {
  const OpInfo& op = test_case.op();
  const Function& function = *FindFunction(op.name);
  if (function.kind == Function::Kind::kUnary) {
    const Format& format = FormatOf(Arguments(test_case).OutputType());
    return Map(test_case, [&](float x) { return Rounded(function, x, 0.0f, format); });
  }
  return MapTwo(test_case, op.args[0].name, op.args[1].name, [&](const Floats& first, const Floats& second) {
    Floats output(first.size());
    for (size_t i = 0; i < output.size(); ++i) {
      output[i] = function.kind == Function::Kind::kDerivative ? first[i] * Rounded(function, second[i])
                                                               : Rounded(function, first[i], second[i]);
    }
    return output;
  });
}

static const std::vector<Op> kFunctions = [] {
  std::vector<Op> ops;
  for (const Function& function : Functions()) ops.emplace_back(function.name, RunFunction);
  return ops;
}();

/// grad_output * slope(output), in double, rounded to float at the end.
template <class Slope>
static Results RunGradFromOutput(const Case& test_case, Slope slope) {
  return MapTwo(test_case, "grad_output", "output", [&](const Floats& grad_output, const Floats& output) {
    Floats grad_input(output.size());
    for (size_t i = 0; i < output.size(); ++i) grad_input[i] = static_cast<float>(grad_output[i] * slope(output[i]));
    return grad_input;
  });
}

static Results RunSigmoidGrad(const Case& test_case) {
  return RunGradFromOutput(test_case, [](double y) { return (1 - y) * y; });
}

static Results RunTanhGrad(const Case& test_case) {
  return RunGradFromOutput(test_case, [](double y) { return 1 - y * y; });
}

static Results RunAddOrSub(const Case& test_case) {
  const auto alpha = static_cast<float>(Arguments(test_case).Number("alpha"));
  const bool subtracts = test_case.op().name == "sub";
  return MapTwo(test_case, "input", "other", [=](const Floats& input, const Floats& other) {
    Floats output(input.size());
    for (size_t i = 0; i < output.size(); ++i) {
      const float product = other[i] * alpha;
      output[i] = subtracts ? input[i] - product : input[i] + product;
    }
    return output;
  });
}

static Results RunLerp(const Case& test_case) {
  const auto weight = static_cast<float>(Arguments(test_case).Number("weight"));
  return MapTwo(test_case, "input", "end", [=](const Floats& input, const Floats& end) {
    Floats output(input.size());
    for (size_t i = 0; i < output.size(); ++i) {
      const float difference = end[i] - input[i];
      if (std::fabs(weight) < 0.5f) {
        const float step = difference * weight;
        output[i] = input[i] + step;
      } else {
        const float rest = 1.0f - weight;
        const float step = difference * rest;
        output[i] = end[i] - step;
      }
    }
    return output;
  });
}

/// addcmul and addcdiv.
static Results RunAddc(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const auto value = static_cast<float>(args.Number("value"));
  Floats operands[3];
  const std::string_view names[] = {"input", "tensor1", "tensor2"};
  for (int t = 0; t < 3; ++t) operands[t] = Broadcast(args.FloatsOf(names[t]), args.Shape(names[t]), shape);
  Floats output(operands[0].size());
  for (size_t i = 0; i < output.size(); ++i) {
    const float scaled = operands[1][i] * value;
    const float term = test_case.op().name == "addcmul" ? scaled * operands[2][i] : scaled / operands[2][i];
    output[i] = operands[0][i] + term;
  }
  Results results;
  Append(results, output, shape, args.OutputType());
  return results;
}

static const Op kOps[] = {{"uniform", RunUniform},
                          {"cube", RunCube},
                          {"relu", RunRelu},
                          {"relu_grad", RunReluGrad},
                          {"div", RunDiv},
                          {"mul", RunMul},
                          {"sigmoid_grad", RunSigmoidGrad},
                          {"tanh_grad", RunTanhGrad},
                          {"add", RunAddOrSub},
                          {"sub", RunAddOrSub},
                          {"addcmul", RunAddc},
                          {"addcdiv", RunAddc},
                          {"lerp", RunLerp},
                          {"maximum", RunSelection},
                          {"minimum", RunSelection},
                          {"fmax", RunSelection},
                          {"fmin", RunSelection},
                          {"clamp_min", RunSelection},
                          {"clamp_max", RunSelection},
                          {"clamp", RunClamp},
                          {"clamp_tensor", RunClamp}};

}  // namespace repdl::reference
