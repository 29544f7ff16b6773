// SPDX-License-Identifier: MIT
#include <cmath>

#include "map.h"
#include "op.h"

namespace repdl::reference {
namespace {

/// How the numbers of one call become steps. Each operation rounds to T.
template <class T>
struct Steps {
  T low, high;
  bool zero_first;

  explicit Steps(const Arguments& args, bool first)
      : low(static_cast<T>(args.Int("low"))), high(static_cast<T>(args.Int("high"))), zero_first(first) {}

  static T Width(T scale) { return static_cast<T>(static_cast<float>(scale)); }
  static T Inverse(T scale) {
    const float width = static_cast<float>(scale);
    const float inverse = 1 / width;
    return static_cast<T>(inverse);
  }

  /// std::nearbyint goes to even numbers from half-way between them.
  T StepOf(T x, T scale, T zero) const {
    const T place = x * Inverse(scale);
    if (zero_first) {
      const T moved = place + zero;
      return std::nearbyint(moved);
    }
    return std::nearbyint(place) + zero;
  }

  bool IsInside(T step) const { return low <= step && step <= high; }

  T Held(T step) const {
    if (step < low) return low;
    if (step > high) return high;
    return step;
  }

  T NumberOf(T step, T scale, T zero) const {
    const T away = Held(step) - zero;
    return away * Width(scale);
  }
};

/// Operands by name, broadcast to the shape of the first output.
template <class T>
Numbers<T> Operand(const Arguments& args, std::string_view name) {
  return Broadcast(args.NumbersOf<T>(name), args.Shape(name), args.OutputShape());
}

}  // namespace

template <class T>
static Results RunFakeQuantize(const Case& test_case) {
  const Arguments args(test_case);
  const Steps<T> steps(args, args.Flag("zero_first"));
  Numbers<T> x = Operand<T>(args, "input");
  const Numbers<T> scale = Operand<T>(args, "scale"), zero = Operand<T>(args, "zero_point");
  Flags mask;
  for (size_t i = 0; i < x.size(); ++i) {
    const T step = steps.StepOf(x[i], scale[i], zero[i]);
    x[i] = steps.NumberOf(step, scale[i], zero[i]);
    mask.push_back(steps.IsInside(step) ? 1 : 0);
  }
  Results results;
  Append(results, x, args.OutputShape(0), args.OutputType(0));
  Append(results, mask, args.OutputShape(1));
  return results;
}

template <class T>
static Results RunFakeQuantizeGrad(const Case& test_case) {
  const Arguments args(test_case);
  const Steps<T> steps(args, false);
  const T factor = static_cast<T>(args.Number("factor"));
  const Numbers<T> grad = Operand<T>(args, "grad_output"), x = Operand<T>(args, "input");
  const Numbers<T> scale = Operand<T>(args, "scale"), zero = Operand<T>(args, "zero_point");
  Numbers<T> by_input, by_scale, by_zero;
  for (size_t i = 0; i < x.size(); ++i) {
    const T step = steps.StepOf(x[i], scale[i], zero[i]);
    if (steps.IsInside(step)) {
      const T away = steps.NumberOf(step, scale[i], zero[i]) - x[i];
      const T product = grad[i] * away;
      const T slope = product * steps.Inverse(scale[i]);
      by_input.push_back(grad[i]);
      by_scale.push_back(slope * factor);
      by_zero.push_back(0);
    } else {
      const T end = step < steps.low ? steps.low : steps.high;
      const T away = end - zero[i];
      const T slope = grad[i] * away;
      const T moved = -grad[i] * steps.Width(scale[i]);
      by_input.push_back(0);
      by_scale.push_back(slope * factor);
      by_zero.push_back(moved * factor);
    }
  }
  Results results;
  Append(results, by_input, args.OutputShape(0), args.OutputType(0));
  Append(results, by_scale, args.OutputShape(1), args.OutputType(1));
  Append(results, by_zero, args.OutputShape(2), args.OutputType(2));
  return results;
}

template <class T>
static Results RunQuantize(const Case& test_case) {
  const Arguments args(test_case);
  const Steps<T> steps(args, true);
  Numbers<T> x = Operand<T>(args, "input");
  const Numbers<T> scale = Operand<T>(args, "scale"), zero = Operand<T>(args, "zero_point");
  for (size_t i = 0; i < x.size(); ++i) {
    const T step = steps.StepOf(x[i], scale[i], zero[i]);
    x[i] = std::isnan(step) ? steps.low : steps.Held(step);
  }
  Results results;
  Append(results, x, args.OutputShape(), args.OutputType());
  return results;
}

static const Op kOps[] = {{"fake_quantize", REPDL_EITHER(RunFakeQuantize)},
                          {"fake_quantize_grad", REPDL_EITHER(RunFakeQuantizeGrad)},
                          {"quantize", REPDL_EITHER(RunQuantize)}};

}  // namespace repdl::reference
