// SPDX-License-Identifier: MIT
#include "drivers/philox_cuda.h"
#include "numerics/functions_scalar.h"
#include "ops/philox/philox_distributions_kernel.h"

namespace repdl::scalar {

#include "numerics/parts/unit53.lane.h"
#include "ops/philox/philox.lane.h"
#include "ops/philox/philox_distributions.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

struct PutUniformDoubles {
  PhiloxUniformDoubleConstants constants;

  __device__ __forceinline__ const scalar::PhiloxBlock& Make(const scalar::PhiloxBlock& block) const { return block; }
  __device__ __forceinline__ void Store(const scalar::PhiloxBlock& block, int j, const MapArgs& map,
                                        int64_t offset) const {
    const double unit = scalar::Unit53Of(scalar::Tag<double>(), block.words[2 * j], block.words[2 * j + 1]);
    static_cast<double*>(map.output)[offset] = scalar::UniformDoubleOf(unit, constants);
  }
};

REPDL_CUDA_KERNEL(PhiloxUniformDoubleKernel, PhiloxUniformDoubleArgs) {
  FillPhilox<2>(place, args.philox, PutUniformDoubles{args.constants});
}
REPDL_CUDA_KERNEL(PhiloxLogNormalKernel, PhiloxLogNormalArgs) {
  FillFloats(place, args.philox, scalar::PhiloxLogNormalPairs{{args.constants}});
}
REPDL_CUDA_KERNEL(PhiloxCauchyKernel, PhiloxCauchyArgs) {
  FillFloats(place, args.philox, scalar::EachWord<scalar::PhiloxCauchyElement>{{args.constants}});
}
REPDL_CUDA_KERNEL(PhiloxGeometricKernel, PhiloxGeometricArgs) {
  const float rate = scalar::GeometricRateOf(scalar::Tag<float>(), args.constants.p);
  FillFloats(place, args.philox, scalar::EachWord<scalar::PhiloxGeometricElement>{{rate, args.constants.highest}});
}

}  // namespace repdl::cuda
