// SPDX-License-Identifier: MIT
#include "device_memory.h"

#include "repdl/cuda.h"

#ifdef REPDL_HAS_CUDA
#include <cuda_runtime_api.h>

#include <algorithm>
#include <deque>

namespace repdl::prove {
namespace {

void Must(cudaError_t status) {
  if (status != cudaSuccess) throw CudaError(cudaGetErrorString(status));
}

/// Memory of device 0 with the shape of a tensor.
class DeviceTensor {
 public:
  explicit DeviceTensor(const TensorView& host) : view_(host), size_(host.numel() * ItemSize(host.dtype)) {
    Must(cudaMalloc(&view_.data, std::max<size_t>(size_, 1)));
    view_.device = {DeviceType::kCuda, 0};
  }
  ~DeviceTensor() { cudaFree(view_.data); }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  const TensorView& view() const { return view_; }
  void CopyFrom(const TensorView& host) { Must(cudaMemcpy(view_.data, host.data, size_, cudaMemcpyHostToDevice)); }
  void CopyTo(const TensorView& host) const { Must(cudaMemcpy(host.data, view_.data, size_, cudaMemcpyDeviceToHost)); }

 private:
  TensorView view_;
  size_t size_;
};

}  // namespace

std::string CudaCompiler() { return "nvcc " REPDL_CUDA_COMPILER; }

void RunOnDevice(const std::vector<TensorView>& operands, const TensorView& result,
                 const std::function<void(const std::vector<TensorView>&, const TensorView&)>& run) {
  std::deque<DeviceTensor> tensors;
  std::vector<TensorView> inputs;
  for (const TensorView& operand : operands) {
    tensors.emplace_back(operand).CopyFrom(operand);
    inputs.push_back(tensors.back().view());
  }
  const DeviceTensor output(result);
  run(inputs, output.view());
  output.CopyTo(result);  // waits for the op
}

}  // namespace repdl::prove
#else
namespace repdl::prove {

std::string CudaCompiler() { return {}; }

void RunOnDevice(const std::vector<TensorView>&, const TensorView&,
                 const std::function<void(const std::vector<TensorView>&, const TensorView&)>&) {
  throw CudaError("this build has no CUDA");
}

}  // namespace repdl::prove
#endif
