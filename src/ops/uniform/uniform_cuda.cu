// SPDX-License-Identifier: MIT
#include "drivers/map_cuda.h"
#include "drivers/row_cuda_thread.h"
#include "numerics/functions_scalar.h"
#include "ops/uniform/uniform_kernel.h"

namespace repdl::scalar {

#include "ops/uniform/uniform.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// A pair by each thread: numbers of the two halves of a block of 16.
__global__ void __launch_bounds__(kThreadsPerBlock) BoxMullerPairsKernel(const __grid_constant__ BoxMullerArgs args) {
  constexpr int64_t kHalf = 8;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.blocks * kHalf; i += num_threads) {
    const int64_t at = i / kHalf * 2 * kHalf + i % kHalf;
    float first = args.input[at], second = args.input[at + kHalf];
    scalar::BoxMullerPair(scalar::Tag<float>(), args.mean, args.std, first, second);
    args.output[at] = first;
    args.output[at + kHalf] = second;
  }
}

REPDL_CUDA_KERNEL(UniformKernel, UniformArgs<float>) {
  MapText<1, float>(place, args.map, scalar::UniformText<float>{args.range, args.low});
}
REPDL_CUDA_KERNEL(UniformKernel, UniformArgs<double>) {
  MapText<1, double>(place, args.map, scalar::UniformText<double>{args.range, args.low});
}
REPDL_CUDA_KERNEL(BoxMullerKernel, BoxMullerArgs) { Launch(place, args.blocks * 8, &BoxMullerPairsKernel, args); }

}  // namespace repdl::cuda
