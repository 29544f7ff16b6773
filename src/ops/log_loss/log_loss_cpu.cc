// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/log_loss/log_loss_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

HWY_INLINE Vec Log1pOfEach(Vec x) { return Log1p(x); }
HWY_INLINE Vec SoftplusOfEach(Vec x) { return Softplus(x); }
HWY_NOINLINE VecOf<double> Log1pOfEach(VecOf<double> x) { return Log1pDouble()(TagOf<double>(), x); }
HWY_NOINLINE VecOf<double> SoftplusOfEach(VecOf<double> x) { return SoftplusDouble()(TagOf<double>(), x); }

/// max(x, bound), of NaN NaN.
template <class V>
HWY_INLINE V AtLeast(V x, V bound) {
  return IfThenElse(Lt(x, bound), bound, x);
}

/// A term of binary_cross_entropy without a weight.
template <class V>
HWY_INLINE V Entropy(V x, V y, V one, V lowest) {
  const V off = AtLeast(Log1pOfEach(Neg(x)), lowest), on = AtLeast(LogOfEach(x), lowest);
  return Sub(Mul(off, Sub(y, one)), Mul(on, y));
}

/// Its gradient.
template <class V>
HWY_INLINE V EntropyGrad(V g, V x, V y, V part, V one, V least) {
  return Div(Mul(Mul(part, g), Sub(x, y)), AtLeast(Mul(Sub(one, x), x), least));
}

template <class T>
void Run(const LogLossArgs& args) {
  using V = VecOf<T>;
  constexpr int64_t kGrain = 2048;
  const TagOf<T> d;
  const V one = Set(d, T{1}), lowest = Set(d, T{-100}), least = Set(d, static_cast<T>(1e-12));
  const V part = Set(d, static_cast<T>(args.part));
  switch (args.op) {
    case LogLoss::kBinaryCrossEntropy:
      return Map<2, T>(args.map, kGrain, [&](V x, V y) HWY_ATTR { return Entropy(x, y, one, lowest); });
    case LogLoss::kWeightedEntropy:
      return Map<3, T>(args.map, kGrain,
                       [&](V x, V y, V weight) HWY_ATTR { return Mul(Entropy(x, y, one, lowest), weight); });
    case LogLoss::kBinaryCrossEntropyGrad:
      return Map<3, T>(args.map, kGrain,
                       [&](V g, V x, V y) HWY_ATTR { return EntropyGrad(g, x, y, part, one, least); });
    case LogLoss::kWeightedEntropyGrad:
      return Map<4, T>(args.map, kGrain, [&](V g, V x, V y, V weight) HWY_ATTR {
        return Mul(EntropyGrad(g, x, y, part, one, least), weight);
      });
    case LogLoss::kSoftMargin:
      return Map<2, T>(args.map, kGrain, [](V x, V y) HWY_ATTR { return SoftplusOfEach(Mul(Neg(y), x)); });
    case LogLoss::kSoftMarginGrad:
      return Map<3, T>(args.map, kGrain, [&](V g, V x, V y) HWY_ATTR {
        const V away = Neg(y);
        return Mul(Mul(away, SigmoidOfEach(Mul(away, x))), Mul(part, g));
      });
  }
}

}  // namespace

void LogLossKernel(const LogLossArgs& args) {
  DispatchReal(args.map.output_dtype, [&]<class T>() { Run<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
