// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace repdl {

/// Elements in memory. Steps count bytes, and may be zero or negative.
struct Strided {
  uintptr_t address;
  int64_t item_size;
  std::span<const int64_t> shape, steps;
};

/// Whether two elements share memory. What takes too long to find out counts as if they did.
bool ElementsOverlap(std::span<const int64_t> shape, std::span<const int64_t> strides);

/// Whether an element of one shares memory with one of the other.
bool ElementsOverlap(const Strided& a, const Strided& b);

}  // namespace repdl
