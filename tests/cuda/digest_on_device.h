// SPDX-License-Identifier: MIT
// A case of a golden file on a device, in any layout. The device may be the host's stand-in.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/op_registry.h"
#include "cpp/relayout.h"
#include "repdl/conformance.h"
#include "repdl/cuda.h"
#include "repdl/digest.h"

namespace repdl::testing {

inline void Must(cudaError_t status) {
  if (status != cudaSuccess) throw CudaError(cudaGetErrorString(status));
}

/// Memory of device 0.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t size) { Must(cudaMalloc(&data_, std::max<size_t>(size, 1))); }
  explicit DeviceMemory(std::span<const std::byte> bytes) : DeviceMemory(bytes.size()) {
    Must(cudaMemcpy(data_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

inline constexpr Device kDevice{DeviceType::kCuda, 0};

/// Runs a case on the device with its tensors laid out as `kind`, and returns the digest of what it changed and made.
inline std::string DigestOnDevice(const Case& test_case, Relayout::Kind kind) {
  const OpInfo& op = test_case.op();
  std::vector<Value> args(test_case.args().begin(), test_case.args().end());
  std::deque<Relayout> hosts;
  std::deque<DeviceMemory> memories;
  struct Result {
    const std::byte* memory;
    std::vector<std::byte> bytes;
    TensorView view;  // of the bytes
  };
  std::deque<Result> results;
  const auto add_result = [&](const DeviceMemory& memory, size_t size, const TensorView& on_device) {
    Result& result = results.emplace_back(Result{memory.data(), std::vector<std::byte>(size), on_device});
    result.view.device = {};
    result.view.data = result.bytes.data() + (static_cast<std::byte*>(on_device.data) - memory.data());
  };
  for (size_t i = 0; i < args.size(); ++i) {
    auto* tensor = std::get_if<TensorView>(&args[i]);
    if (tensor == nullptr) continue;
    const Relayout& host = hosts.emplace_back(*tensor, kind);
    const DeviceMemory& memory = memories.emplace_back(host.memory());
    const auto offset = static_cast<const std::byte*>(host.view().data) - host.memory().data();
    *tensor = host.view();
    tensor->data = memory.data() + offset;
    tensor->device = kDevice;
    if (op.args[i].IsMutated()) add_result(memory, host.memory().size(), *tensor);
  }
  const Specs specs = op.infer(args);
  std::vector<TensorView> outputs;
  for (int i = 0; i < specs.size; ++i) {
    TensorView output = MakeView(nullptr, specs.spec[i].dtype, specs.spec[i].shape, kDevice);
    const auto size = static_cast<size_t>(output.numel() * ItemSize(output.dtype));
    const DeviceMemory& memory = memories.emplace_back(size);
    output.data = memory.data();
    outputs.push_back(output);
    add_result(memory, size, output);
  }
  op.run(args, outputs);
  std::vector<TensorView> views;
  for (Result& result : results) {
    Must(cudaMemcpy(result.bytes.data(), result.memory, result.bytes.size(), cudaMemcpyDeviceToHost));
    views.push_back(result.view);
  }
  return Digest(views);
}

/// The ops all of whose kernels have a CUDA version here.
inline std::vector<std::string> OpsWithKernels() {
  std::vector<std::string> names;
  for (const OpInfo& op : AllOps()) {
    if (op.HasCuda()) names.emplace_back(op.name);
  }
  return names;
}

}  // namespace repdl::testing
