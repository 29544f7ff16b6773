// SPDX-License-Identifier: MIT
#include "drivers/draw_cpu-inl.h"
#include "numerics/special_highway-inl.h"
#include "ops/philox/philox_counts_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

using Number = VecOf<double>;

// Long enough that a call costs nothing, and one copy of them is enough.
static HWY_NOINLINE Number ExpOfNumber(Number x) { return ExpDouble()(TagOf<double>(), x); }
static HWY_NOINLINE Number LogOfNumber(Number x) { return LogDouble()(TagOf<double>(), x); }
static HWY_NOINLINE Number Log1pOfNumber(Number x) { return Log1pDouble()(TagOf<double>(), x); }
static HWY_NOINLINE Number LgammaOfNumber(Number x) { return LgammaDouble()(TagOf<double>(), x); }

#include "ops/philox/philox_counts.lane.h"

void PhiloxPoissonKernel(const DrawArgs& args) {
  Draw<1, double>(args, 256, [&](uint64_t number, Number rate) HWY_ATTR {
    const auto numbers = [&](int t, Number& u0, Number& u1) HWY_ATTR { DrawUnitPair(args.stream, number, t, u0, u1); };
    return PoissonOf(TagOf<double>(), rate, numbers);
  });
}

void PhiloxBinomialKernel(const DrawArgs& args) {
  Draw<2, double>(args, 256, [&](uint64_t number, Number count, Number prob) HWY_ATTR {
    const auto numbers = [&](int t, Number& u0, Number& u1) HWY_ATTR { DrawUnitPair(args.stream, number, t, u0, u1); };
    return BinomialOf(TagOf<double>(), count, prob, numbers);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
