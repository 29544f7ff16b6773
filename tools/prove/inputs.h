// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "functions.h"
#include "repdl/tensor.h"

namespace repdl::prove {

/// Operands as bit patterns of a dtype; functions of one number leave `second` empty.
struct Batch {
  std::vector<uint32_t> first, second;
  int64_t size() const { return static_cast<int64_t>(first.size()); }
};

/// The number with this pattern.
float ValueOfHalf(uint32_t pattern, DType dtype);
inline float ValueOf(uint32_t pattern, DType dtype) {
  return dtype == DType::kFloat32 ? std::bit_cast<float>(pattern) : ValueOfHalf(pattern, dtype);
}

/// The pattern of 1.
uint32_t OneOf(DType dtype);

/// What is tried. A function of one number gets the patterns offset, offset + stride, offset + 2 stride, …; one of two
/// gets random pairs of several kinds, which `offset` seeds. The special and the hard cases come first, but where every
/// pattern comes anyway.
class Inputs {
 public:
  struct Amount {
    int64_t stride = 1, offset = 0, pairs = 0;
  };
  Inputs(const reference::Function& function, DType dtype, const Amount& amount);

  int64_t size() const { return known_.size() + count_; }
  /// "all" that there are, a "sample" of them, or "pairs".
  std::string tried() const { return binary_ ? "pairs" : complete_ ? "all" : "sample"; }
  /// The inputs from `begin` to `end`.
  void Get(int64_t begin, int64_t end, Batch& batch) const;

 private:
  void AddSpecial();
  void AddHard();

  const reference::Function& function_;
  DType dtype_;
  Amount amount_;
  bool binary_, complete_;
  Batch known_;
  int64_t count_ = 0;
};

/// The file of the hard cases of an op: lines of the patterns of its operands and, where known, of the result.
std::string HardCaseFile(std::string_view op);

/// Its lines but for the comments; none without a file.
std::vector<std::vector<uint32_t>> ReadHardCases(std::string_view op);

}  // namespace repdl::prove
