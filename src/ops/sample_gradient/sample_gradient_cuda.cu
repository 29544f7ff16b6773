// SPDX-License-Identifier: MIT
#include "drivers/map_cuda.h"
#include "numerics/special_of_two_scalar.h"
#include "ops/sample_gradient/sample_gradient_kernel.h"

namespace repdl::cuda {

struct StandardGammaGradOfEach {
  DType output_dtype;

  REPDL_LANE float operator()(float a, float z) const { return scalar::StandardGammaGrad(a, z); }
};

struct DirichletGradOfEach {
  DType output_dtype;

  REPDL_LANE float operator()(float x, float a, float total) const { return scalar::DirichletGrad(x, a, total); }
};

REPDL_CUDA_KERNEL(StandardGammaGradKernel, MapArgs) {
  if (args.output_dtype == DType::kFloat64) return MapDouble<2, scalar::StandardGammaGradDouble>(place, args);
  Map<2, StandardGammaGradOfEach>(place, args);
}

REPDL_CUDA_KERNEL(DirichletGradKernel, MapArgs) {
  if (args.output_dtype == DType::kFloat64) return MapDouble<3, scalar::DirichletGradDouble>(place, args);
  Map<3, DirichletGradOfEach>(place, args);
}

}  // namespace repdl::cuda
