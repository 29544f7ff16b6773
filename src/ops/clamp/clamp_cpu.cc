// SPDX-License-Identifier: MIT
#include <limits>

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
    return Map<3, T, 4>(args.map, kGrain, [](V x, V min, V max) HWY_ATTR { return ClampMax(ClampMin(x, min), max); });
  }
  const T least = static_cast<T>(args.min), most = static_cast<T>(args.max);
  const V min = Set(TagOf<T>(), least), max = Set(TagOf<T>(), most);
  // An infinite bound changes nothing.
  if (most == std::numeric_limits<T>::infinity()) {
    return Map<1, T, 4>(args.map, kGrain, [&](V x) HWY_ATTR { return ClampMin(x, min); });
  }
  if (least == -std::numeric_limits<T>::infinity()) {
    return Map<1, T, 4>(args.map, kGrain, [&](V x) HWY_ATTR { return ClampMax(x, max); });
  }
  Map<1, T, 4>(args.map, kGrain, [&](V x) HWY_ATTR { return ClampMax(ClampMin(x, min), max); });
}

void ClampKernel(const ClampArgs& args) {
  DispatchReal(args.map.output_dtype, [&]<class T>() { Run<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
