// SPDX-License-Identifier: MIT
#include "repdl/conformance.h"
#include "repdl/cuda.h"

#ifdef REPDL_HAS_CUDA
#include "base/device_tensor.h"

namespace repdl {
namespace {

/// Makes a device current while it lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    MustCuda(cudaGetDevice(&saved_));
    MustCuda(cudaSetDevice(device));
  }
  ~CurrentDevice() { cudaSetDevice(saved_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int saved_ = 0;
};

}  // namespace

std::vector<TensorView> Case::RunOnCuda(int device) {
  const CurrentDevice current(device);
  std::deque<DeviceTensor> tensors;
  std::vector<std::pair<const DeviceTensor*, TensorView>> results;
  std::vector<Value> args(args_);
  for (size_t i = 0; i < args.size(); ++i) {
    const auto* host = std::get_if<TensorView>(&args_[i]);
    if (host == nullptr) continue;
    DeviceTensor& tensor = tensors.emplace_back(*host, device);
    tensor.CopyFrom(*host);
    args[i] = tensor.view();
    if (op_->args[i].IsMutated()) results.emplace_back(&tensor, *host);
  }
  std::vector<TensorView> outputs;
  for (const TensorView& host : memory_.New(op_->infer(args))) {
    const DeviceTensor& tensor = tensors.emplace_back(host, device);
    outputs.push_back(tensor.view());
    results.emplace_back(&tensor, host);
  }
  op_->run(args, outputs);
  std::vector<TensorView> on_host;
  for (const auto& [tensor, host] : results) {
    tensor->CopyTo(host);  // waits for the op
    on_host.push_back(host);
  }
  return on_host;
}

}  // namespace repdl
#else
namespace repdl {

std::vector<TensorView> Case::RunOnCuda(int) { throw CudaError("this build has no CUDA"); }

}  // namespace repdl
#endif
