// SPDX-License-Identifier: MIT
// May be left out: then a tensor on a GPU raises NotImplementedError.
#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"
#include "ops/skeleton/skeleton_kernel.h"

namespace repdl::cuda {

__global__ void __launch_bounds__(kThreadsPerBlock) MultiplyKernel(const __grid_constant__ SkeletonArgs args) {
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto times = [&](float x) { return scalar::Mul(x, args.factor); };
  scalar::MapThread<1>(args.map, thread, int64_t{gridDim.x} * blockDim.x, times);
}

REPDL_CUDA_KERNEL(SkeletonKernel, SkeletonArgs) { Launch(place, args.map.numel, &MultiplyKernel, args); }

}  // namespace repdl::cuda
