// SPDX-License-Identifier: MIT
#include "drivers/reduce_cpu-inl.h"
#include "ops/sum/sum_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void SumKernel(const ReduceArgs& args) { Reduce(args); }

void SquaredDistanceKernel(const MapArgs& args) {
  constexpr int64_t kGrain = 8192;
  Map<2>(args, kGrain, [](Vec x, Vec c) HWY_ATTR {
    const Vec away = Sub(x, c);
    return Mul(away, away);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
