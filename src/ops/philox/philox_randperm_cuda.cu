// SPDX-License-Identifier: MIT
#include "drivers/sort_cuda.h"
#include "ops/philox/philox_randperm_kernel.h"

namespace repdl::cuda {

struct EntryOfRandom {
  const int64_t* random;

  __device__ __forceinline__ SortEntry<uint64_t> operator()(int64_t, int64_t i) const {
    return SortEntry<uint64_t>::Make(static_cast<uint64_t>(random[i]) ^ PhiloxRandpermArgs::kSign, i);
  }
};

struct PlacesCall {
  PhiloxRandpermArgs args;
  const SortEntry<uint64_t>* entries;
};

__global__ void __launch_bounds__(kThreadsPerBlock) PlacesKernel(const __grid_constant__ PlacesCall call) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.args.n; i += num_threads) {
    call.args.to[i * call.args.stride] = call.entries[i].Place();
  }
}

REPDL_CUDA_KERNEL(PhiloxRandpermKernel, PhiloxRandpermArgs) {
  OpScratch scratch(place);
  const auto* const entries = Sorted<uint64_t>(place, 1, args.n, EntryOfRandom{args.random}, scratch);
  Launch(place, args.n, &PlacesKernel, {args, entries});
}

}  // namespace repdl::cuda
