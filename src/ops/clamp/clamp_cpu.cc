// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/clamp/clamp_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

template <class T>
void Run(const ClampArgs& args) {
  using V = VecOf<T>;
  constexpr int64_t kGrain = 8192;
  if (args.map.num_inputs == 3) {
    return Map<3, T>(args.map, kGrain, [](V x, V min, V max) HWY_ATTR { return ClampMax(ClampMin(x, min), max); });
  }
  const V min = Set(TagOf<T>(), static_cast<T>(args.min)), max = Set(TagOf<T>(), static_cast<T>(args.max));
  Map<1, T>(args.map, kGrain, [&](V x) HWY_ATTR { return ClampMax(ClampMin(x, min), max); });
}

void ClampKernel(const ClampArgs& args) {
  DispatchReal(args.map.output_dtype, [&]<class T>() { Run<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
