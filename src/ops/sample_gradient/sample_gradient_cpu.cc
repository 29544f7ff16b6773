// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "numerics/special_of_two_highway-inl.h"
#include "ops/sample_gradient/sample_gradient_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

constexpr int64_t kGrain = 256;

void StandardGammaGradKernel(const MapArgs& args) {
  if (args.output_dtype == DType::kFloat64) return MapDouble<2, StandardGammaGradDouble>(args, kGrain);
  Map<2>(args, kGrain, [](Vec a, Vec z) HWY_ATTR { return StandardGammaGrad(a, z); });
}

void DirichletGradKernel(const MapArgs& args) {
  if (args.output_dtype == DType::kFloat64) return MapDouble<3, DirichletGradDouble>(args, kGrain);
  Map<3>(args, kGrain, [](Vec x, Vec a, Vec total) HWY_ATTR { return DirichletGrad(x, a, total); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
