// SPDX-License-Identifier: MIT
#include "drivers/philox.h"

#include <limits>

#include "base/check.h"

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

PhiloxStream::PhiloxStream(int64_t seed, int64_t call, int64_t offset)
    : keys(static_cast<uint64_t>(seed)), call(static_cast<uint64_t>(call)), offset(static_cast<uint64_t>(offset)) {}

void CheckPhiloxOffset(std::string_view op, int64_t offset, int64_t count) {
  REPDL_CHECK(offset >= 0 && offset <= std::numeric_limits<int64_t>::max() - count, ArgName{op, "offset"},
              " must be an index that the last element can still be counted from, got ", offset);
}

}  // namespace repdl
