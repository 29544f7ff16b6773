// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "repdl/tensor.h"

namespace repdl {

/// Where an op runs, and its name for messages. Without arguments: the CPU.
struct Place {
  std::string_view op;
  Device device;
  void* stream = nullptr;  // of the device: a cudaStream_t

  bool IsCpu() const { return device.type == DeviceType::kCpu; }
};

/// The place of an op whose tensors live with `tensor`; NotImplementedError if the op has no kernels there.
Place PlaceOf(std::string_view op, const TensorView& tensor);

/// Throws NotImplementedError unless the place is the CPU. For what an op does by itself and not by a kernel.
void CheckCpu(const Place& place);

namespace internal {

/// NotImplementedError: the op has no kernel at its place.
[[noreturn]] void ThrowNoKernel(const Place& place);

/// The stream of the innermost CudaStreamScope of this thread.
void* CurrentCudaStream();

}  // namespace internal
}  // namespace repdl
