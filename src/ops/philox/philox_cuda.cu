// SPDX-License-Identifier: MIT
#include "drivers/philox_cuda.h"
#include "numerics/functions_scalar.h"
#include "ops/philox/philox_kernel.h"

namespace repdl::scalar {

#include "ops/philox/philox.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// The block itself.
struct PutOfBlock {
  __device__ __forceinline__ const scalar::PhiloxBlock& Make(const scalar::PhiloxBlock& block) const { return block; }
};

struct PutBits : PutOfBlock {
  __device__ __forceinline__ void Store(const scalar::PhiloxBlock& block, int j, const MapArgs& map,
                                        int64_t offset) const {
    static_cast<int64_t*>(map.output)[offset] = static_cast<uint32_t>(block[j]);
  }
};

struct PutIntegers : PutOfBlock {
  PhiloxRandintConstants constants;

  __device__ __forceinline__ void Store(const scalar::PhiloxBlock& block, int j, const MapArgs& map,
                                        int64_t offset) const {
    static_cast<int64_t*>(map.output)[offset] = scalar::IntegerOf(
        static_cast<uint32_t>(block[2 * j]), static_cast<uint32_t>(block[2 * j + 1]), constants.first, constants.count);
  }
};

REPDL_CUDA_KERNEL(PhiloxBitsKernel, PhiloxBitsArgs) { FillPhilox<1>(place, args.philox, PutBits()); }
REPDL_CUDA_KERNEL(PhiloxRandintKernel, PhiloxRandintArgs) {
  FillPhilox<2>(place, args.philox, PutIntegers{{}, args.constants});
}
REPDL_CUDA_KERNEL(PhiloxUniformKernel, PhiloxUniformArgs) {
  FillFloats(place, args.philox, scalar::EachWord<scalar::PhiloxUniformElement>{{args.constants}});
}
REPDL_CUDA_KERNEL(PhiloxNormalKernel, PhiloxNormalArgs) {
  FillFloats(place, args.philox, scalar::PhiloxNormalPairs{args.constants});
}
REPDL_CUDA_KERNEL(PhiloxBernoulliKernel, PhiloxBernoulliArgs) {
  FillFloats(place, args.philox, scalar::EachWord<scalar::PhiloxBernoulliElement>{{args.constants}});
}
REPDL_CUDA_KERNEL(PhiloxExponentialKernel, PhiloxExponentialArgs) {
  FillFloats(place, args.philox, scalar::EachWord<scalar::PhiloxExponentialElement>{{args.constants}});
}

}  // namespace repdl::cuda
