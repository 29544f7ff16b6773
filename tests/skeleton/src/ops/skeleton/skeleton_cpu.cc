// SPDX-License-Identifier: MIT
// This file is compiled once for each CPU target, so ordinary functions go into a header or into skeleton.cc.
#include "drivers/map_cpu-inl.h"
#include "ops/skeleton/skeleton_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void SkeletonKernel(const SkeletonArgs& args) {
  constexpr int64_t kGrain = 8192;  // elements worth a fork of the threads
  const Vec factor = Set(FloatTag(), args.factor);
  Map<1>(args.map, kGrain, [&](Vec x) HWY_ATTR { return Mul(x, factor); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
