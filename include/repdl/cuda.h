// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "repdl/tensor.h"

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

/// Numbers of the host in memory of a CUDA device, for ops that run there. They get there as parameters of a kernel, on the
/// stream of this thread, and their memory is given back on it: what is started on it in between may use them.
class CudaNumbers {
 public:
  /// `op`: for messages.
  CudaNumbers(std::string_view op, Device device);
  ~CudaNumbers();
  CudaNumbers(const CudaNumbers&) = delete;
  CudaNumbers& operator=(const CudaNumbers&) = delete;

  /// A copy of contiguous numbers of four bytes or eight. NotImplementedError if the device has no memory for ops.
  void* Put(const void* numbers, int64_t bytes);

 private:
  std::string op_;
  Device device_;
  void* stream_;
  std::vector<void*> memory_;
};

}  // namespace repdl
