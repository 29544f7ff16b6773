// SPDX-License-Identifier: MIT
// For `_cuda.cu` files: how a kernel is started.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "base/kernel.h"
#include "repdl/cuda.h"
#include "repdl/error.h"

namespace repdl {

namespace cuda {

/// Throws CudaError, naming the op and what it was doing, unless `status` is success.
inline void Check(const Place& place, const char* doing, cudaError_t status) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // reported here: not to be met again by the next call
  throw CudaError(Message("[", place.op, "] ", doing, " on ", Name(place.device),
                          " failed: ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")"));
}

/// Makes the device of a place current while it lives.
class DeviceScope {
 public:
  explicit DeviceScope(const Place& place) {
    Check(place, "asking for the current device", cudaGetDevice(&saved_));
    if (saved_ == place.device.index) return;
    Check(place, "choosing the device", cudaSetDevice(place.device.index));
    changed_ = true;
  }
  ~DeviceScope() {
    if (changed_) cudaSetDevice(saved_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int saved_ = 0;
  bool changed_ = false;
};

/// The multiprocessors of the device of a place.
inline int Multiprocessors(const Place& place) {
  int count = 0;
  Check(place, "asking for the size of the device",
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, place.device.index));
  return count;
}

inline constexpr int kThreadsPerBlock = 256;
/// More blocks than any device runs at once; a kernel loops over what is left.
inline constexpr int64_t kMaxBlocks = int64_t{1} << 16;

/// The blocks of a launch, the threads of each and their shared memory.
struct Grid {
  int64_t blocks;
  int threads = kThreadsPerBlock;
  size_t shared_bytes = 0;
};

/// Starts kernel(args) on the stream of the place.
template <class Args>
void Launch(const Place& place, const Grid& grid, void (*kernel)(Args), const std::type_identity_t<Args>& args) {
  const DeviceScope scope(place);
  if (grid.shared_bytes > size_t{48} << 10) {
    Check(
        place, "asking for shared memory",
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared_bytes)));
  }
  void* params[] = {const_cast<void*>(static_cast<const void*>(&args))};
  Check(place, "starting a kernel",
        cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(grid.blocks)), dim3(static_cast<unsigned>(grid.threads)),
                         params, grid.shared_bytes, static_cast<cudaStream_t>(place.stream)));
}

/// The same with a thread for each of `num_items` items if that is not too many.
template <class Args>
void Launch(const Place& place, int64_t num_items, void (*kernel)(Args), const std::type_identity_t<Args>& args) {
  Launch(place, Grid{std::min((num_items + kThreadsPerBlock - 1) / kThreadsPerBlock, kMaxBlocks)}, kernel, args);
}

/// The shared memory of the block, as large as the launch says. All that a kernel shares is in it: tests that run the
/// text on the host fill it with NaNs, and guard its end.
template <class T>
__device__ __forceinline__ T* SharedMemory() {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  return reinterpret_cast<T*>(shared_memory);
}

}  // namespace cuda
}  // namespace repdl

#define REPDL_CUDA_NAME_IN(Kernel, line) Kernel##_is_filled_##line
#define REPDL_CUDA_NAME(Kernel, line) REPDL_CUDA_NAME_IN(Kernel, line)

/// Begins the CUDA version of a kernel, in namespace repdl::cuda, and puts it into the kernel's slot when its object is
/// loaded: `REPDL_CUDA_KERNEL(MmKernel, MmArgs) { … }` is a function of (const Place& place, const MmArgs& args).
#define REPDL_CUDA_KERNEL(Kernel, Args)                                                      \
  static void Kernel(const Place& place, const Args& args);                                  \
  [[maybe_unused]] static const bool REPDL_CUDA_NAME(Kernel, __LINE__) =                     \
      (::repdl::Kernel.SetCuda(static_cast<internal::KernelFunction<Args>>(&Kernel)), true); \
  static void Kernel(const Place& place, const Args& args)
