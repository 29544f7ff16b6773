// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tensors.h"

namespace repdl::reference {

/// The random words of a case, by its arguments seed, call and offset, or by another offset.
class PhiloxStream {
 public:
  explicit PhiloxStream(const Arguments& args);
  PhiloxStream(const Arguments& args, int64_t offset);

  /// The number that element i of the tensor has in the stream.
  uint64_t Number(size_t i) const { return offset_ + i; }
  uint32_t Word(uint64_t number) const;
  float Unit(uint64_t number) const;
  float OpenUnit(uint64_t number) const;
  /// Words 2 `number` and 2 `number` + 1, the second on top.
  uint64_t Word64(uint64_t number) const { return uint64_t{Word(2 * number + 1)} << 32 | Word(2 * number); }
  /// 53 bits of word `number` and the next, in [0, 1).
  double Unit53(uint64_t number) const;
  /// 1 with probability p, else 0.
  float Bernoulli(uint64_t number, double p) const;

 private:
  uint64_t seed_, call_, offset_;
};

}  // namespace repdl::reference
