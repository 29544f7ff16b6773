// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/clamp/clamp_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void ClampKernel(const ClampArgs& args) {
  constexpr int64_t kGrain = 8192;
  if (args.map.num_inputs == 3) {
    return Map<3>(args.map, kGrain, [](Vec x, Vec min, Vec max) HWY_ATTR { return ClampMax(ClampMin(x, min), max); });
  }
  const Vec min = Set(FloatTag(), args.min), max = Set(FloatTag(), args.max);
  Map<1>(args.map, kGrain, [&](Vec x) HWY_ATTR { return ClampMax(ClampMin(x, min), max); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
