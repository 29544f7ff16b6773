// SPDX-License-Identifier: MIT
#pragma once

#include "ops/mm/mm_kernel.h"

namespace repdl {

/// Rows of a up to which FewRowsOfLow is faster than widening all of b first.
inline constexpr int64_t kFewLowRows = 32;

/// The product of bfloat16 or float16 matrices, where the numbers of b lie side by side along its rows or its columns: b is
/// widened as it is read.
REPDL_KERNEL(FewRowsOfLow, MmArgs)

/// c = a b (+ bias) of any floating-point type. bfloat16 and float16 are widened, and results rounded once.
void Multiply(const Place& place, const MmArgs& args);

}  // namespace repdl
