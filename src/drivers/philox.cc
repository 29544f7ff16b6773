// SPDX-License-Identifier: MIT
#include "drivers/philox.h"

namespace repdl {

PhiloxKeys::PhiloxKeys(uint64_t seed) {
  auto low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    first[round] = low;
    second[round] = high;
    low += 0x9e3779b9;
    high += 0xbb67ae85;
  }
}

PhiloxArgs MakePhiloxArgs(const TensorView& tensor, int64_t seed, int64_t call, int64_t offset) {
  return {MakeMapArgs({&tensor}, tensor), PhiloxKeys(static_cast<uint64_t>(seed)), static_cast<uint64_t>(call),
          static_cast<uint64_t>(offset)};
}

}  // namespace repdl
