// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "functions.h"
#include "map.h"
#include "op.h"

namespace repdl::reference {
namespace {

/// The function of functions.def with this name, rounded to T.
template <class T>
T Nearest(std::string_view function, T x) {
  return Rounded<T>(*FindFunction(function), x, T{0}, sizeof(T) == 8 ? kFloat64 : kFloat32);
}

/// slope(g, x) of a gradient and what it goes to.
template <class T, class Slope>
Results MapSlope(const Case& test_case, std::string_view input, Slope slope) {
  return MapTwo<T>(test_case, "grad_output", input, [&](const Numbers<T>& grad, const Numbers<T>& x) {
    Numbers<T> result(x.size());
    for (size_t i = 0; i < result.size(); ++i) result[i] = slope(grad[i], x[i]);
    return result;
  });
}

}  // namespace

template <class T>
static Results RunSoftshrink(const Case& test_case) {
  const T lambd = static_cast<T>(Arguments(test_case).Number("lambd"));
  return Map<T>(test_case, [=](T x) {
    if (x > lambd) return x - lambd;
    if (x < -lambd) return x + lambd;
    return std::isnan(x) ? x : T{0};
  });
}

template <class T>
static Results RunShrinkGrad(const Case& test_case) {
  const T lambd = static_cast<T>(Arguments(test_case).Number("lambd"));
  return MapSlope<T>(test_case, "input", [=](T g, T x) { return x >= -lambd && x <= lambd ? T{0} : g; });
}

template <class T>
static Results RunHardtanhGrad(const Case& test_case) {
  const Arguments args(test_case);
  const T low = static_cast<T>(args.Number("min_val"));
  const T high = static_cast<T>(args.Number("max_val"));
  return MapSlope<T>(test_case, "input", [=](T g, T x) { return x <= low || x >= high ? T{0} : g; });
}

/// x + 3, at least 0 and at most 6; NaN stays.
template <class T>
static T Held(T x) {
  const T moved = x + 3;
  if (moved < 0) return T{0};
  return moved > 6 ? T{6} : moved;
}

template <class T>
static Results RunHardsigmoid(const Case& test_case) {
  return Map<T>(test_case, [](T x) { return Held(x) / 6; });
}

template <class T>
static Results RunHardsigmoidGrad(const Case& test_case) {
  return MapSlope<T>(test_case, "input",
                     [](T g, T x) { return x > -3 && x < 3 ? g * T{static_cast<float>(1.0 / 6.0)} : T{0}; });
}

template <class T>
static Results RunHardswish(const Case& test_case) {
  return Map<T>(test_case, [](T x) {
    const T product = x * Held(x);
    return product / 6;
  });
}

template <class T>
static Results RunHardswishGrad(const Case& test_case) {
  return MapSlope<T>(test_case, "input", [](T g, T x) {
    if (x <= -3) return T{0};
    if (!(x < 3)) return g;
    const T third = x / 3;
    return g * (third + T{0.5});
  });
}

template <class T>
static Results RunScaledElu(const Case& test_case) {
  const Arguments args(test_case);
  const double scale = args.Number("scale");
  const T above = static_cast<T>(scale);
  const T below = static_cast<T>(args.Number("alpha") * scale);
  const T inner = static_cast<T>(args.Number("input_scale"));
  return Map<T>(test_case, [=](T x) {
    if (x > 0) return x * above;
    const T scaled = x * inner;
    return Nearest<T>("expm1", scaled) * below;
  });
}

template <class T>
static Results RunScaledEluGrad(const Case& test_case) {
  const Arguments args(test_case);
  const double scale = args.Number("scale"), product = args.Number("alpha") * scale;
  const double input_scale = args.Number("input_scale");
  const T above = static_cast<T>(scale);
  const T below = static_cast<T>(product);
  const T inner = static_cast<T>(input_scale);
  const T both = static_cast<T>(input_scale * product);
  const bool is_result = args.Flag("is_result");
  return MapSlope<T>(test_case, "self_or_result", [=](T g, T x) {
    if (!(x <= 0)) return g * above;
    if (is_result) {
      const T scaled = g * inner;
      return scaled * (x + below);
    }
    const T scaled = g * both;
    const T exponent = x * inner;
    return scaled * Nearest<T>("exp", exponent);
  });
}

template <class T>
static Results RunLogitGrad(const Case& test_case) {
  const Arguments args(test_case);
  const bool has_eps = args.Has("eps");
  const double eps = has_eps ? args.Number("eps") : 0;
  const T low = static_cast<T>(eps);
  const T high = static_cast<T>(1 - eps);
  return MapSlope<T>(test_case, "input", [=](T g, T x) {
    if (x < low || x > high) return has_eps ? T{0} : std::numeric_limits<T>::quiet_NaN();
    const T rest = 1 - x;
    const T product = x * rest;
    return g / (has_eps || product != 0 ? product : T{0});
  });
}

template <class T>
static Results RunScaledSoftplus(const Case& test_case) {
  const Arguments args(test_case);
  const T beta = static_cast<T>(args.Number("beta")), threshold = static_cast<T>(args.Number("threshold"));
  return Map<T>(test_case, [=](T x) {
    const T scaled = x * beta;
    if (scaled > threshold) return x;
    return -Nearest<T>("logsigmoid", -scaled) / beta;
  });
}

template <class T>
static Results RunScaledSoftplusGrad(const Case& test_case) {
  const Arguments args(test_case);
  const T beta = static_cast<T>(args.Number("beta")), threshold = static_cast<T>(args.Number("threshold"));
  return MapSlope<T>(test_case, "input", [=](T g, T x) {
    const T scaled = x * beta;
    return scaled > threshold ? g : g * Nearest<T>("sigmoid", scaled);
  });
}

static const Op kOps[] = {{"softshrink", REPDL_EITHER(RunSoftshrink)},
                          {"shrink_grad", REPDL_EITHER(RunShrinkGrad)},
                          {"hardtanh_grad", REPDL_EITHER(RunHardtanhGrad)},
                          {"hardsigmoid", REPDL_EITHER(RunHardsigmoid)},
                          {"hardsigmoid_grad", REPDL_EITHER(RunHardsigmoidGrad)},
                          {"hardswish", REPDL_EITHER(RunHardswish)},
                          {"hardswish_grad", REPDL_EITHER(RunHardswishGrad)},
                          {"scaled_elu", REPDL_EITHER(RunScaledElu)},
                          {"scaled_elu_grad", REPDL_EITHER(RunScaledEluGrad)},
                          {"logit_grad", REPDL_EITHER(RunLogitGrad)},
                          {"scaled_softplus", REPDL_EITHER(RunScaledSoftplus)},
                          {"scaled_softplus_grad", REPDL_EITHER(RunScaledSoftplusGrad)}};

}  // namespace repdl::reference
