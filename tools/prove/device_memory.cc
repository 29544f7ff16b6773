// SPDX-License-Identifier: MIT
#include "device_memory.h"

#include "repdl/cuda.h"

#ifdef REPDL_HAS_CUDA
#include <deque>

#include "base/device_tensor.h"

namespace repdl::prove {

std::string CudaCompiler() { return "nvcc " REPDL_CUDA_COMPILER; }

void RunOnDevice(const std::vector<TensorView>& operands, const TensorView& result,
                 const std::function<void(const std::vector<TensorView>&, const TensorView&)>& run) {
  std::deque<DeviceTensor> tensors;
  std::vector<TensorView> inputs;
  for (const TensorView& operand : operands) {
    tensors.emplace_back(operand, 0).CopyFrom(operand);
    inputs.push_back(tensors.back().view());
  }
  const DeviceTensor output(result, 0);
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
