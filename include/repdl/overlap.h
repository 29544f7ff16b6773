// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace repdl {

/// Whether two elements share memory. Strides count elements and may be zero or negative.
bool ElementsOverlap(std::span<const int64_t> shape, std::span<const int64_t> strides);

}  // namespace repdl
