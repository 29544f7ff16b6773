// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "base/cpu_target.h"
#include "repdl/tensor.h"
#include "repdl_cuda_folders.h"  // generated: kHasCuda_<folder>

namespace repdl {

/// Where an op runs, and its name for messages.
struct Place {
  std::string_view op;
  Device device;
};

/// The place of an op whose tensors live with `tensor`; NotImplementedError if it has no kernel there.
Place PlaceOf(std::string_view op, const TensorView& tensor);

}  // namespace repdl

/// Declares a kernel of an op folder for every device. `Kernel(place, args)` calls the CPU version (REPDL_KERNEL) or,
/// for a CUDA device, `void Kernel(const Place&, const Args&)` in namespace repdl::cuda, which the `_cuda.cu` file of
/// the folder defines. A folder needs no such file: PlaceOf throws before a kernel that is not there could be called.
/// To be used inside namespace repdl.
#define REPDL_DEVICE_KERNEL(folder, Kernel, Args)                                            \
  REPDL_KERNEL(Kernel, Args)                                                                 \
  namespace cuda {                                                                           \
  void Kernel(const Place& place, const Args& args);                                         \
  }                                                                                          \
  inline void Kernel(const Place& place, const Args& args) {                                 \
    if constexpr (::repdl::internal::kHasCuda_##folder) {                                    \
      if (place.device.type == ::repdl::DeviceType::kCuda) return cuda::Kernel(place, args); \
    }                                                                                        \
    Kernel(args);                                                                            \
  }
