// SPDX-License-Identifier: MIT
#include "repdl/cuda.h"

#include "base/device_memory.h"
#include "base/place.h"

#ifdef REPDL_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace repdl {
namespace {

thread_local void* current_stream = nullptr;

}  // namespace

bool HasCuda() {
#ifdef REPDL_HAS_CUDA
  return true;
#else
  return false;
#endif
}

std::vector<std::string> CudaDevices() {
  std::vector<std::string> names;
#ifdef REPDL_HAS_CUDA
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();  // No driver, no GPU: nothing for a later call to stumble over.
    return names;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    const bool known = cudaGetDeviceProperties(&properties, i) == cudaSuccess;
    names.emplace_back(known ? properties.name : "unknown");
  }
#endif
  return names;
}

CudaStreamScope::CudaStreamScope(void* stream) : saved_(current_stream) { current_stream = stream; }
CudaStreamScope::~CudaStreamScope() { current_stream = saved_; }

CudaNumbers::CudaNumbers(std::string_view op, Device device) : op_(op), device_(device), stream_(current_stream) {}

CudaNumbers::~CudaNumbers() {
  const Place place{op_, device_, stream_};
  for (void* memory : memory_) internal::MemoryOf(place).give_back(place, memory);
}

void* CudaNumbers::Put(const void* numbers, int64_t bytes) {
  const Place place{op_, device_, stream_};
  const internal::DeviceMemory& device = internal::MemoryOf(place);
  memory_.reserve(memory_.size() + 1);  // what comes must not be lost
  memory_.push_back(device.get(place, bytes));
  device.write(place, memory_.back(), numbers, bytes);
  return memory_.back();
}

namespace internal {
void* CurrentCudaStream() { return current_stream; }
}  // namespace internal

}  // namespace repdl
