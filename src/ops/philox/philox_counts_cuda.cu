// SPDX-License-Identifier: MIT
#include "drivers/draw_cuda.h"
#include "numerics/special_scalar.h"
#include "ops/philox/philox_counts_kernel.h"

namespace repdl::scalar {

// Long enough that a call costs nothing, and one copy of them is enough.
REPDL_LANE_RARE double ExpOfNumber(double x) { return ExpDouble()(Tag<double>(), x); }
REPDL_LANE_RARE double LogOfNumber(double x) { return LogDouble()(Tag<double>(), x); }
REPDL_LANE_RARE double Log1pOfNumber(double x) { return Log1pDouble()(Tag<double>(), x); }
REPDL_LANE_RARE double LgammaOfNumber(double x) { return LgammaDouble()(Tag<double>(), x); }

#include "ops/philox/philox_counts.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

struct DrawPoisson {
  __device__ __forceinline__ double operator()(const PhiloxStream& stream, uint64_t number, double rate) const {
    return scalar::PoissonOf(scalar::Tag<double>(), rate, scalar::UnitPairs{stream, number});
  }
};

struct DrawBinomial {
  __device__ __forceinline__ double operator()(const PhiloxStream& stream, uint64_t number, double count,
                                               double prob) const {
    return scalar::BinomialOf(scalar::Tag<double>(), count, prob, scalar::UnitPairs{stream, number});
  }
};

REPDL_CUDA_KERNEL(PhiloxPoissonKernel, DrawArgs) { Draw<1, double, DrawPoisson>(place, args); }
REPDL_CUDA_KERNEL(PhiloxBinomialKernel, DrawArgs) { Draw<2, double, DrawBinomial>(place, args); }

}  // namespace repdl::cuda
