// SPDX-License-Identifier: MIT
#include <type_traits>

#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"
#include "ops/fused_optimizer/fused_optimizer_kernel.h"

namespace repdl::scalar {

#include "numerics/functions/maximum.lane.h"
#include "ops/fused_optimizer/fused_optimizer.lane.h"

/// Rounds to the dtype of the tensors.
template <class T>
struct RoundedTo {
  DType dtype;

  REPDL_LANE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>) {
      if (dtype == DType::kBFloat16) return WidenBFloat16(NarrowBFloat16(x));
      if (dtype == DType::kFloat16) return WidenFloat16(NarrowFloat16(x) & 0xffff);
    }
    return x;
  }
};

/// The numbers of an element, of which a step changes all but the gradient.
template <class T>
REPDL_LANE void StepNumbers(const FusedAdamArgs<T>& args, const RoundedTo<T>& round, T* x) {
  T* const largest = args.tensors.count == 4 ? nullptr : x + 4;
  FusedAdamElement(Tag<T>(), args, round, x[1], x[0], x[2], x[3], largest);
}
template <class T>
REPDL_LANE void StepNumbers(const FusedAdagradArgs<T>& args, const RoundedTo<T>& round, T* x) {
  FusedAdagradElement(Tag<T>(), args, round, x[1], x[0], x[2]);
}
template <class T>
REPDL_LANE void StepNumbers(const FusedSgdArgs<T>& args, const RoundedTo<T>& round, T* x) {
  FusedSgdElement(Tag<T>(), args, round, x[1], x[0], args.tensors.count == 2 ? nullptr : x + 2);
}

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T, class Args>
__global__ void __launch_bounds__(kThreadsPerBlock) FusedStepKernel(const __grid_constant__ Args args) {
  constexpr int kGradient = 1;
  const FusedTensors& tensors = args.tensors;
  const scalar::RoundedTo<T> round{tensors.dtype};
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < tensors.n; i += num_threads) {
    T x[FusedTensors::kMaxCount];
#pragma unroll
    for (int k = 0; k < FusedTensors::kMaxCount; ++k) {
      if (k < tensors.count) x[k] = scalar::LoadNumber<T>(tensors.data[k], tensors.dtype, i);
    }
    scalar::StepNumbers(args, round, x);
#pragma unroll
    for (int k = 0; k < FusedTensors::kMaxCount; ++k) {
      if (k < tensors.count && k != kGradient) scalar::StoreNumber(tensors.data[k], tensors.dtype, i, x[k]);
    }
  }
}

template <class T, class Args>
static void Step(const Place& place, const Args& args) {
  Launch(place, args.tensors.n, &FusedStepKernel<T, Args>, args);
}

REPDL_CUDA_KERNEL(FusedAdamKernel, FusedAdamArgs<float>) { Step<float>(place, args); }
REPDL_CUDA_KERNEL(FusedAdamKernel, FusedAdamArgs<double>) { Step<double>(place, args); }
REPDL_CUDA_KERNEL(FusedAdagradKernel, FusedAdagradArgs<float>) { Step<float>(place, args); }
REPDL_CUDA_KERNEL(FusedAdagradKernel, FusedAdagradArgs<double>) { Step<double>(place, args); }
REPDL_CUDA_KERNEL(FusedSgdKernel, FusedSgdArgs<float>) { Step<float>(place, args); }
REPDL_CUDA_KERNEL(FusedSgdKernel, FusedSgdArgs<double>) { Step<double>(place, args); }

}  // namespace repdl::cuda
