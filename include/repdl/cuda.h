// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace repdl {

/// CUDA refused or failed; the message says which op asked, and CUDA's own words (Python: RuntimeError).
class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// True if this build has CUDA kernels.
bool HasCuda();

/// Names of the CUDA devices, by index; empty without a GPU, a driver, or CUDA in this build.
std::vector<std::string> CudaDevices();

/// While it lives, the ops that this thread runs on CUDA tensors run on `stream` (a cudaStream_t of the tensors'
/// device). Without one they run on the default stream. Ops do not wait for the device.
class CudaStreamScope {
 public:
  explicit CudaStreamScope(void* stream);
  ~CudaStreamScope();
  CudaStreamScope(const CudaStreamScope&) = delete;
  CudaStreamScope& operator=(const CudaStreamScope&) = delete;

 private:
  void* saved_;
};

}  // namespace repdl
