// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "drivers/map.h"

namespace repdl {

/// The key of each round.
struct PhiloxKeys {
  static constexpr int kRounds = 10;

  explicit PhiloxKeys(uint64_t seed);

  int64_t first[kRounds], second[kRounds];  // 32 bits each
};

/// The random words of one call, from number `offset` on.
struct PhiloxStream {
  PhiloxStream(int64_t seed, int64_t call, int64_t offset);

  PhiloxKeys keys;
  uint64_t call;
  uint64_t offset;
};

/// Throws unless `count` elements can be numbered from `offset` on.
void CheckPhiloxOffset(std::string_view op, int64_t offset, int64_t count);

/// A tensor to be filled with random numbers, element by element in row-major order.
struct PhiloxArgs {
  MapArgs map;  // the tensor is its only operand
  PhiloxStream stream;
};

}  // namespace repdl
