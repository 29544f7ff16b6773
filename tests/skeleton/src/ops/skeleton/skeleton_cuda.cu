// SPDX-License-Identifier: MIT
// May be left out: then a tensor on a GPU raises NotImplementedError.
#include "drivers/map_cuda.h"
#include "ops/skeleton/skeleton_kernel.h"

namespace repdl::cuda {

struct TimesFactor {
  float factor;

  REPDL_LANE float operator()(scalar::Tag<float>, float x) const { return scalar::Mul(x, factor); }
};

REPDL_CUDA_KERNEL(SkeletonKernel, SkeletonArgs) { MapText<1, float>(place, args.map, TimesFactor{args.factor}); }

}  // namespace repdl::cuda
