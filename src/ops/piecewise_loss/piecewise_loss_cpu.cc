// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "ops/piecewise_loss/piecewise_loss_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

template <class T>
void Run(const PiecewiseLossArgs& args) {
  using V = VecOf<T>;
  constexpr int64_t kGrain = 8192;
  const TagOf<T> d;
  const V half = Set(d, T{0.5}), bound = Set(d, static_cast<T>(args.bound)), part = Set(d, static_cast<T>(args.part));
  const V half_bound = Set(d, static_cast<T>(0.5 * args.bound)), lower_bound = Neg(bound);
  const auto distance = [&](V x, V y) HWY_ATTR { return Abs(Sub(x, y)); };
  // Of gradients of a sum or a mean, that of each term is one number.
  const auto map_slopes = [&](const auto& f) HWY_ATTR {
    if (!IsOneNumber(args.map, 0)) return Map<3, T, 4>(args.map, kGrain, f);
    const V g = OneNumber<T>(args.map, 0);
    Map<2, T, 4>(Without(args.map, 0), kGrain, [&](V x, V y) HWY_ATTR { return f(g, x, y); });
  };
  // A gradient: `far` with the sign of the difference, `near` between the bounds and of NaN.
  const auto slope = [&](V away, V far, V near) HWY_ATTR {
    return IfThenElse(Le(away, lower_bound), Neg(far), IfThenElse(Ge(away, bound), far, near));
  };
  switch (args.op) {
    case PiecewiseLoss::kSmoothL1:
      return Map<2, T, 4>(args.map, kGrain, [&](V x, V y) HWY_ATTR {
        const V away = distance(x, y);
        const V near = Div(Mul(Mul(away, half), away), bound);
        return IfThenElse(Lt(away, bound), near, Sub(away, half_bound));
      });
    case PiecewiseLoss::kSmoothL1Grad:
      return map_slopes([&](V g, V x, V y) HWY_ATTR {
        const V away = Sub(x, y);
        return slope(away, Mul(part, g), Div(Mul(Mul(part, away), g), bound));
      });
    case PiecewiseLoss::kHuber:
      return Map<2, T, 4>(args.map, kGrain, [&](V x, V y) HWY_ATTR {
        const V away = distance(x, y);
        const V near = Mul(Mul(away, half), away);
        return IfThenElse(Le(away, bound), near, Mul(Sub(away, half_bound), bound));
      });
    case PiecewiseLoss::kHuberGrad:
      return map_slopes([&](V g, V x, V y) HWY_ATTR {
        const V away = Sub(x, y);
        return slope(away, Mul(Mul(part, g), bound), Mul(Mul(part, away), g));
      });
  }
}

void PiecewiseLossKernel(const PiecewiseLossArgs& args) {
  DispatchReal(args.map.output_dtype, [&]<class T>() { Run<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
