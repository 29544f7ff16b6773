// SPDX-License-Identifier: MIT
#include "repdl/cuda.h"

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

namespace internal {
void* CurrentCudaStream() { return current_stream; }
}  // namespace internal

}  // namespace repdl
