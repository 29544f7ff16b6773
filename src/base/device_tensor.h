// SPDX-License-Identifier: MIT
// For code that is compiled with REPDL_HAS_CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include "repdl/cuda.h"
#include "repdl/tensor.h"

namespace repdl {

/// Throws CudaError unless `status` is success.
inline void MustCuda(cudaError_t status) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // reported here: not to be met again by the next call
  throw CudaError(cudaGetErrorString(status));
}

/// Memory of the current CUDA device, which is `index`, with the shape of a row-major tensor.
class DeviceTensor {
 public:
  DeviceTensor(const TensorView& host, int index)
      : view_(host), size_(static_cast<size_t>(host.numel() * ItemSize(host.dtype))) {
    MustCuda(cudaMalloc(&view_.data, std::max<size_t>(size_, 1)));
    view_.device = {DeviceType::kCuda, index};
  }
  ~DeviceTensor() { cudaFree(view_.data); }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  const TensorView& view() const { return view_; }
  void CopyFrom(const TensorView& host) { MustCuda(cudaMemcpy(view_.data, host.data, size_, cudaMemcpyHostToDevice)); }
  void CopyTo(const TensorView& host) const {
    MustCuda(cudaMemcpy(host.data, view_.data, size_, cudaMemcpyDeviceToHost));
  }

 private:
  TensorView view_;
  size_t size_;
};

}  // namespace repdl
