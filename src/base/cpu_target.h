// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include "repdl_targets.h"  // generated: REPDL_FOR_EACH_TARGET

namespace repdl::internal {

/// Index of the active target in the list of compiled ones.
int ActiveTargetIndex();

}  // namespace repdl::internal

#define REPDL_DECLARE_IN_TARGET(target_namespace, label, Kernel, Args) \
  namespace target_namespace {                                         \
  void Kernel(const Args& args);                                       \
  }
#define REPDL_KERNEL_POINTER(target_namespace, label, Kernel, Args) &target_namespace::Kernel,

/// Declares a CPU kernel: `Kernel(args)` calls the version for the active target. Each version is
/// defined once, as `void Kernel(const Args&)` in namespace repdl::HWY_NAMESPACE of an `_cpu.cc` file,
/// which is compiled once per target. The arguments go to a device byte by byte, so what they point to is memory of the
/// tensors or of the device. To be used inside namespace repdl.
#define REPDL_KERNEL(Kernel, Args)                                                                                   \
  static_assert(std::is_trivially_copyable_v<Args>, #Args " must be trivially copyable: take what owns memory out"); \
  REPDL_FOR_EACH_TARGET(REPDL_DECLARE_IN_TARGET, Kernel, Args)                                                       \
  inline void Kernel(const Args& args) {                                                                             \
    static constexpr void (*kVersions[])(const Args&) = {REPDL_FOR_EACH_TARGET(REPDL_KERNEL_POINTER, Kernel, Args)}; \
    kVersions[::repdl::internal::ActiveTargetIndex()](args);                                                         \
  }
