// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace repdl {

/// Writes elements that lie with strides in memory of the host side by side, in the order of their indices. Strides
/// count elements of item_size bytes: 1, 2, 4, 8 or 16.
void CopyStrided(uintptr_t from, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
                 int64_t item_size, uintptr_t to);

}  // namespace repdl
