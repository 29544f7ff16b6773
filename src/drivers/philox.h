// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "drivers/map.h"

namespace repdl {

/// The key of each round.
struct PhiloxKeys {
  static constexpr int kRounds = 10;

  explicit PhiloxKeys(uint64_t seed);

  int64_t first[kRounds], second[kRounds];  // 32 bits each
};

/// A tensor to be filled with random numbers, element by element in row-major order.
struct PhiloxArgs {
  MapArgs map;  // the tensor is its only operand
  PhiloxKeys keys;
  uint64_t call;
  uint64_t offset;  // the number of the tensor's first element
};

PhiloxArgs MakePhiloxArgs(const TensorView& tensor, int64_t seed, int64_t call, int64_t offset);

}  // namespace repdl
