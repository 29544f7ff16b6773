// SPDX-License-Identifier: MIT
#include "base/cuda_launch.h"
#include "numerics/lanes/scalar.h"
#include "ops/sgd/sgd_kernel.h"

namespace repdl::scalar {

#include "ops/sgd/sgd.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) SgdStepKernel(const __grid_constant__ SgdArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.n; i += num_threads) {
    T* const buffer = args.buffer == nullptr ? nullptr : args.buffer + i;
    scalar::SgdElement(scalar::Tag<T>(), args.constants, args.grad[i], args.param[i], buffer);
  }
}

REPDL_CUDA_KERNEL(SgdKernel, SgdArgs<float>) { Launch(place, args.n, &SgdStepKernel<float>, args); }
REPDL_CUDA_KERNEL(SgdKernel, SgdArgs<double>) { Launch(place, args.n, &SgdStepKernel<double>, args); }

}  // namespace repdl::cuda
