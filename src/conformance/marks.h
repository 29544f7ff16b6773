// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace repdl {

inline constexpr int kMaxMarks = 64;
inline constexpr int kMarkDigits = 4;
inline constexpr std::string_view kNoMarks = "-";

/// Number of elements in a block that has one mark (repdl/golden.h).
int64_t MarkedBlock(int64_t num_elements);

}  // namespace repdl
