// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "ops/uniform/uniform_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void UniformKernel(const UniformArgs& args) {
  const Vec range = Set(FloatTag(), args.range), low = Set(FloatTag(), args.low);
  Map<1>(args.map, 8192, [=](Vec u) HWY_ATTR { return Fma(u, range, low); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
