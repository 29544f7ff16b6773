// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <string_view>
#include <type_traits>

#include "base/cpu_target.h"
#include "base/place.h"

namespace repdl::internal {

template <class Args>
using KernelFunction = void (*)(const Place& place, const Args& args);

/// Where the CUDA version of a kernel is found. Null until an object with a REPDL_CUDA_KERNEL fills it when it is loaded,
/// with the program or later.
template <class Args>
using KernelSlot = std::atomic<KernelFunction<Args>>;

/// A kernel for one type of arguments, or for each of several. See REPDL_KERNEL.
template <class... Versions>
struct KernelOf : Versions... {
  using Versions::operator()...;
  using Versions::SetCuda...;
};

}  // namespace repdl::internal

#define REPDL_DECLARE_IN_TARGET(target_namespace, label, Kernel, Args) \
  namespace target_namespace {                                         \
  void Kernel(const Args& args);                                       \
  }
#define REPDL_KERNEL_POINTER(target_namespace, label, Kernel, Args) &target_namespace::Kernel,
#define REPDL_KERNEL_VERSION(Version, Kernel, Args)                                                                   \
  static_assert(std::is_trivially_copyable_v<Args>, #Args " must be trivially copyable: take what owns memory out");  \
  REPDL_FOR_EACH_TARGET(REPDL_DECLARE_IN_TARGET, Kernel, Args)                                                        \
  struct Version {                                                                                                    \
    using ArgsType = Args;                                                                                            \
    static constexpr std::string_view kName = #Kernel "(" #Args ")";                                                  \
    static inline constinit ::repdl::internal::KernelSlot<Args> cuda = nullptr;                                       \
    static void SetCuda(::repdl::internal::KernelFunction<Args> function) {                                           \
      cuda.store(function, std::memory_order_release);                                                                \
    }                                                                                                                 \
    static void OnCpu(const ::repdl::Place&, const Args& args) {                                                      \
      static constexpr void (*kTargets[])(const Args&) = {REPDL_FOR_EACH_TARGET(REPDL_KERNEL_POINTER, Kernel, Args)}; \
      kTargets[::repdl::internal::ActiveTargetIndex()](args);                                                         \
    }                                                                                                                 \
    void operator()(const ::repdl::Place& place, const Args& args) const {                                            \
      if (place.IsCpu()) [[likely]]                                                                                   \
        return OnCpu(place, args);                                                                                    \
      const auto on_cuda = cuda.load(std::memory_order_acquire);                                                      \
      if (place.device.type != ::repdl::DeviceType::kCuda || on_cuda == nullptr)                                      \
        ::repdl::internal::ThrowNoKernel(place);                                                                      \
      on_cuda(place, args);                                                                                           \
    }                                                                                                                 \
  };

/// Declares a kernel for every device. `Kernel(place, args)` calls, on the CPU, the version for the active target: each is
/// defined once, as `void Kernel(const Args&)` in namespace repdl::HWY_NAMESPACE of an `_cpu.cc` file, which is compiled
/// once per target. On a CUDA device it calls what a REPDL_CUDA_KERNEL of a `_cuda.cu` file defines, or throws
/// NotImplementedError if there is none. The arguments go to a device byte by byte, so what they point to is memory of the
/// tensors or of the device. To be used inside a namespace of repdl.
#define REPDL_KERNEL(Kernel, Args)                    \
  REPDL_KERNEL_VERSION(Kernel##Version, Kernel, Args) \
  inline constexpr ::repdl::internal::KernelOf<Kernel##Version> Kernel{};

/// The same for a template of arguments: a kernel of float and one of double.
#define REPDL_REAL_KERNEL(Kernel, Args)                      \
  REPDL_KERNEL_VERSION(Kernel##Float, Kernel, Args<float>)   \
  REPDL_KERNEL_VERSION(Kernel##Double, Kernel, Args<double>) \
  inline constexpr ::repdl::internal::KernelOf<Kernel##Float, Kernel##Double> Kernel{};
