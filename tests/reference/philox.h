// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tensors.h"

namespace repdl::reference {

/// The random words of a case, by its arguments seed, call and offset.
class PhiloxStream {
 public:
  explicit PhiloxStream(const Arguments& args);

  /// The number that element i of the tensor has in the stream.
  uint64_t Number(size_t i) const { return offset_ + i; }
  uint32_t Word(uint64_t number) const;
  /// 1 with probability p, else 0.
  float Bernoulli(uint64_t number, double p) const;

 private:
  uint64_t seed_, call_, offset_;
};

}  // namespace repdl::reference
