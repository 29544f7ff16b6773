// SPDX-License-Identifier: MIT
#pragma once

// The one place of the version: CMake and the Python package read this line.
#define REPDL_VERSION "0.2.0"

namespace repdl {

/// Version of the arithmetic contract (docs/arithmetic.md). Bits may change only with this number.
inline constexpr int kArithmeticVersion = 1;

}  // namespace repdl
