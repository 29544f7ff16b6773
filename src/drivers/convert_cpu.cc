// SPDX-License-Identifier: MIT
#include "drivers/convert.h"
#include "drivers/map_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void ConvertKernel(const MapArgs& args) {
  Map<1, float, 4>(args, 8192, [](VecOf<float> x) HWY_ATTR { return x; });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
