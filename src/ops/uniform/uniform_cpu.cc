// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "ops/uniform/uniform_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void UniformKernel(const UniformArgs& args) {
  Map<1>(args.map, 8192, [range = args.range, low = args.low](Vec u) HWY_ATTR {
    return Fma(u, Set(FloatTag(), range), Set(FloatTag(), low));
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
