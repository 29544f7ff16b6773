// SPDX-License-Identifier: MIT
#include "drivers/draw_cuda.h"
#include "numerics/functions_scalar.h"
#include "ops/philox/philox_gamma_kernel.h"

namespace repdl::scalar {

#include "ops/philox/philox_gamma.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

struct DrawGamma {
  __device__ __forceinline__ float operator()(const PhiloxStream& stream, uint64_t number, float alpha) const {
    const auto words = [&](int t, int32_t& w0, int32_t& w1, int32_t& w2, int32_t& w3) {
      const scalar::PhiloxBlock block(stream, number + (static_cast<uint64_t>(t) << 58));
      w0 = block[0], w1 = block[1], w2 = block[2], w3 = block[3];
    };
    return scalar::GammaOf<int32_t>(alpha, words);
  }
};

REPDL_CUDA_KERNEL(PhiloxGammaKernel, DrawArgs) { Draw<1, float, DrawGamma>(place, args); }

}  // namespace repdl::cuda
