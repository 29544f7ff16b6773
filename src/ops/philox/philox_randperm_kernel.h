// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// The places of n random integers in their order, which of equal ones is that of the places, `stride` apart.
struct PhiloxRandpermArgs {
  int64_t n;
  const int64_t* random;
  int64_t* to;
  int64_t stride;

  /// Integers in the order of the signed ones.
  static constexpr uint64_t kSign = uint64_t{1} << 63;
};

REPDL_KERNEL(PhiloxRandpermKernel, PhiloxRandpermArgs)

}  // namespace repdl
