// SPDX-License-Identifier: MIT
#include "inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/parallel.h"
#include "random_pairs.h"

namespace repdl::prove {
namespace {

struct Layout {
  int bits, fraction_bits, bias;
};

Layout LayoutOf(DType dtype) {
  if (dtype == DType::kFloat16) return {16, 10, 15};
  if (dtype == DType::kBFloat16) return {16, 7, 127};
  return {32, 23, 127};
}

}  // namespace

float ValueOfHalf(uint32_t pattern, DType dtype) {
  if (dtype == DType::kBFloat16) return std::bit_cast<float>(pattern << 16);
  const auto exponent = static_cast<int>(pattern >> 10 & 31);
  const auto fraction = static_cast<float>(pattern & 0x3ff);
  const float size = exponent == 31  ? (fraction != 0 ? std::numeric_limits<float>::quiet_NaN() : HUGE_VALF)
                     : exponent == 0 ? std::ldexp(fraction, -24)
                                     : std::ldexp(fraction + 1024, exponent - 25);
  return (pattern & 0x8000) != 0 ? -size : size;
}

uint32_t OneOf(DType dtype) {
  const Layout layout = LayoutOf(dtype);
  return static_cast<uint32_t>(layout.bias) << layout.fraction_bits;
}

Inputs::Inputs(const reference::Function& function, DType dtype, const Amount& amount)
    : function_(function),
      dtype_(dtype),
      amount_(amount),
      binary_(function.kind == reference::Function::Kind::kBinary) {
  const int64_t patterns = int64_t{1} << LayoutOf(dtype).bits;
  if (patterns <= 65536) {  // few enough to try them all
    amount_.stride = 1;
    amount_.offset = binary_ ? amount_.offset : 0;
  }
  complete_ = !binary_ && amount_.stride == 1 && amount_.offset == 0;
  if (!complete_) {
    AddSpecial();
    if (dtype == DType::kFloat32) AddHard();
  }
  count_ =
      binary_ ? amount_.pairs : std::max<int64_t>(0, (patterns - amount_.offset + amount_.stride - 1) / amount_.stride);
}

void Inputs::AddSpecial() {
  const Layout layout = LayoutOf(dtype_);
  const uint32_t unit = uint32_t{1} << layout.fraction_bits;
  const uint32_t one = OneOf(dtype_);
  const uint32_t infinity = (uint32_t{1} << (layout.bits - 1)) - unit;
  const uint32_t sign = uint32_t{1} << (layout.bits - 1);
  std::vector<uint32_t> values;
  for (uint32_t x : {uint32_t{0},
                     uint32_t{1},
                     uint32_t{2},
                     uint32_t{3},
                     unit - 1,
                     unit,
                     unit + 1,  // around subnormals
                     one - 3 * unit,
                     one - unit,
                     one - unit / 2,
                     one - 1,
                     one,
                     one + 1,
                     one + unit / 2,
                     one + unit,
                     one + unit + unit / 2,
                     one + 2 * unit,
                     one + 2 * unit + unit / 4,
                     one + layout.fraction_bits * unit + (unit - 1),  // the largest odd integer
                     one + (layout.fraction_bits + 1) * unit,
                     infinity - unit,
                     infinity - 2,
                     infinity - 1,
                     infinity,
                     infinity + unit / 2}) {
    values.push_back(x);
    values.push_back(x | sign);
  }
  for (uint32_t x : values) {
    if (!binary_) {
      known_.first.push_back(x);
      continue;
    }
    for (uint32_t y : values) {
      known_.first.push_back(x);
      known_.second.push_back(y);
    }
  }
}

void Inputs::AddHard() {
  for (const auto& words : ReadHardCases(function_.name)) {
    known_.first.push_back(words[0]);
    if (binary_) known_.second.push_back(words[1]);
  }
}

void Inputs::Get(int64_t begin, int64_t end, Batch& batch) const {
  batch.first.resize(end - begin);
  batch.second.resize(binary_ ? end - begin : 0);
  if (!binary_ && begin >= known_.size()) {
    for (int64_t at = 0; at < end - begin; ++at) {
      batch.first[at] = static_cast<uint32_t>(amount_.offset + (begin + at - known_.size()) * amount_.stride);
    }
    return;
  }
  ParallelRanges(end - begin, 4096, [&](int64_t from, int64_t to) {
    for (int64_t at = from; at < to; ++at) {
      const int64_t i = begin + at;
      if (i < known_.size()) {
        batch.first[at] = known_.first[i];
        if (binary_) batch.second[at] = known_.second[i];
      } else if (!binary_) {
        batch.first[at] = static_cast<uint32_t>(amount_.offset + (i - known_.size()) * amount_.stride);
      } else {
        const auto [x, y] = RandomPair(function_.name, dtype_, amount_.offset, i - known_.size());
        batch.first[at] = x;
        batch.second[at] = y;
      }
    }
  });
}

std::string HardCaseFile(std::string_view op) { return std::string(REPDL_HARD_CASES "/").append(op).append(".txt"); }

std::vector<std::vector<uint32_t>> ReadHardCases(std::string_view op) {
  std::vector<std::vector<uint32_t>> cases;
  std::ifstream file(HardCaseFile(op));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::vector<uint32_t> numbers;
    for (std::string word; words >> word;) numbers.push_back(static_cast<uint32_t>(std::stoul(word, nullptr, 16)));
    if (!numbers.empty()) cases.push_back(numbers);
  }
  return cases;
}

}  // namespace repdl::prove
