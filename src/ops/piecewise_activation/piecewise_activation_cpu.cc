// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/piecewise_activation/piecewise_activation_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

static HWY_INLINE VecOf<float> Expm1OfEach(VecOf<float> x) { return Expm1(x); }
static HWY_NOINLINE VecOf<double> Expm1OfEach(VecOf<double> x) { return Expm1Double()(TagOf<double>(), x); }

static HWY_INLINE VecOf<float> LogsigmoidOfEach(VecOf<float> x) { return Logsigmoid(x); }
static HWY_NOINLINE VecOf<double> LogsigmoidOfEach(VecOf<double> x) { return LogsigmoidDouble()(TagOf<double>(), x); }

template <class T>
void Run(const PiecewiseActivationArgs& args) {
  using V = VecOf<T>;
  constexpr int64_t kGrain = 8192;
  const TagOf<T> d;
  const MapArgs& map = args.map;
  const auto number = [&](int i) HWY_ATTR { return Set(d, static_cast<T>(args.numbers[i])); };
  const V zero = Zero(d), one = Set(d, T{1});
  const V a = number(0), b = number(1), c = number(2), e = number(3);
  switch (args.op) {
    case PiecewiseActivation::kSoftshrink:
      return Map<1, T>(map, kGrain, [&](V x) HWY_ATTR {
        const V moved = IfThenElse(Gt(x, zero), Sub(x, a), Add(x, a));
        return IfThenZeroElse(Le(Abs(x), a), moved);
      });
    case PiecewiseActivation::kShrinkGrad: {
      const V least = Neg(a);
      return Map<2, T>(map, kGrain, [&](V g, V x) HWY_ATTR { return IfThenZeroElse(And(Ge(x, least), Le(x, a)), g); });
    }
    case PiecewiseActivation::kHardtanhGrad:
      return Map<2, T>(map, kGrain, [&](V g, V x) HWY_ATTR { return IfThenZeroElse(Or(Le(x, a), Ge(x, b)), g); });
    case PiecewiseActivation::kHardswishGrad: {
      const V three = Set(d, T{3}), half = Set(d, T{0.5}), least = Neg(three);
      return Map<2, T>(map, kGrain, [&](V g, V x) HWY_ATTR {
        const V slope = Mul(g, Add(Div(x, three), half));
        return IfThenZeroElse(Le(x, least), IfThenElse(Lt(x, three), slope, g));
      });
    }
    case PiecewiseActivation::kScaledElu:
      return Map<1, T>(map, kGrain, [&](V x) HWY_ATTR {
        const auto above = Gt(x, zero);
        const V below = Mul(Expm1OfEach(IfThenZeroElse(above, Mul(x, c))), a);
        return IfThenElse(above, Mul(x, b), below);
      });
    case PiecewiseActivation::kScaledEluGrad:
      return Map<2, T>(map, kGrain, [&](V g, V x) HWY_ATTR {
        const auto below = Le(x, zero);
        const V slope = Mul(Mul(g, e), ExpOfEach(IfThenElseZero(below, Mul(x, c))));
        return IfThenElse(below, slope, Mul(g, b));
      });
    case PiecewiseActivation::kScaledEluGradOfResult:
      return Map<2, T>(map, kGrain, [&](V g, V y) HWY_ATTR {
        return IfThenElse(Le(y, zero), Mul(Mul(g, c), Add(y, a)), Mul(g, b));
      });
    case PiecewiseActivation::kLogitGrad: {
      const V nan = Sub(Inf(d), Inf(d));
      return Map<2, T>(map, kGrain, [&](V g, V x) HWY_ATTR {
        return IfThenElse(Or(Lt(x, zero), Gt(x, one)), nan, Div(g, Mul(x, Sub(one, x))));
      });
    }
    case PiecewiseActivation::kLogitGradWithin:
      return Map<2, T>(map, kGrain, [&](V g, V x) HWY_ATTR {
        return IfThenZeroElse(Or(Lt(x, a), Gt(x, b)), Div(g, Mul(x, Sub(one, x))));
      });
    case PiecewiseActivation::kScaledSoftplus:
      return Map<1, T>(map, kGrain, [&](V x) HWY_ATTR {
        const V scaled = Mul(x, a);
        const V soft = Neg(LogsigmoidOfEach(Neg(scaled)));  // unlike softplus, for any threshold
        return IfThenElse(Gt(scaled, b), x, Div(soft, a));
      });
    case PiecewiseActivation::kScaledSoftplusGrad:
      return Map<2, T>(map, kGrain, [&](V g, V x) HWY_ATTR {
        const V scaled = Mul(x, a);
        return IfThenElse(Gt(scaled, b), g, Mul(g, SigmoidOfEach(scaled)));
      });
  }
}

void PiecewiseActivationKernel(const PiecewiseActivationArgs& args) {
  DispatchReal(args.map.output_dtype, [&]<class T>() { Run<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
