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

/// A case on the device, with its tensors laid out as `kind`. The case must live as long.
class CaseOnDevice {
 public:
  CaseOnDevice(const Case& test_case, Relayout::Kind kind)
      : op_(test_case.op()), args_(test_case.args().begin(), test_case.args().end()) {
    for (size_t i = 0; i < args_.size(); ++i) {
      auto* tensor = std::get_if<TensorView>(&args_[i]);
      if (tensor == nullptr) continue;
      const Relayout host(*tensor, kind);
      const DeviceMemory& memory = memories_.emplace_back(host.memory());
      const auto offset = static_cast<const std::byte*>(host.view().data) - host.memory().data();
      *tensor = host.view();
      tensor->data = memory.data() + offset;
      tensor->device = kDevice;
      if (op_.args[i].IsMutated()) AddResult(memory, host.memory(), *tensor);
    }
    const Specs specs = op_.infer(args_);
    for (int i = 0; i < specs.size; ++i) {
      TensorView output = MakeView(nullptr, specs.spec[i].dtype, specs.spec[i].shape, kDevice);
      const std::vector<std::byte> nothing(static_cast<size_t>(output.numel() * ItemSize(output.dtype)), kNothing);
      const DeviceMemory& memory = memories_.emplace_back(nothing);
      output.data = memory.data();
      outputs_.push_back(output);
      AddResult(memory, nothing, output);
    }
  }

  /// Starts the op on the stream of this thread.
  void Run() const { op_.run(args_, outputs_); }

  /// Makes what the op changes and makes what it was before, by copies of the default stream.
  void Reset() const {
    for (const Result& result : results_) {
      Must(cudaMemcpy(result.memory, result.before.data(), result.before.size(), cudaMemcpyHostToDevice));
    }
  }

  /// Of what the op changed and made; the device has finished.
  std::string Digest() {
    std::vector<TensorView> views;
    for (Result& result : results_) {
      Must(cudaMemcpy(result.bytes.data(), result.memory, result.bytes.size(), cudaMemcpyDeviceToHost));
      views.push_back(result.view);
    }
    return repdl::Digest(views);
  }

 private:
  static constexpr std::byte kNothing{0xa5};

  struct Result {
    std::byte* memory;
    std::vector<std::byte> before, bytes;
    TensorView view;  // of the bytes
  };

  void AddResult(const DeviceMemory& memory, std::span<const std::byte> before, const TensorView& on_device) {
    const std::vector<std::byte> bytes(before.begin(), before.end());
    Result& result = results_.emplace_back(Result{memory.data(), bytes, bytes, on_device});
    result.view.device = {};
    result.view.data = result.bytes.data() + (static_cast<std::byte*>(on_device.data) - memory.data());
  }

  const OpInfo& op_;
  std::vector<Value> args_;
  std::deque<DeviceMemory> memories_;
  std::deque<Result> results_;
  std::vector<TensorView> outputs_;
};

/// Runs a case on the device with its tensors laid out as `kind`, and returns the digest of what it changed and made.
inline std::string DigestOnDevice(const Case& test_case, Relayout::Kind kind) {
  CaseOnDevice on_device(test_case, kind);
  on_device.Run();
  return on_device.Digest();
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
