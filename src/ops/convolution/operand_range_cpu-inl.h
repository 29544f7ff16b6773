// SPDX-License-Identifier: MIT
// Whether operands are such that a zero in the place of an absent term may show.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/convolution/convolution_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// The least exponent of a number that is not 0, counted from 1 as of the subnormals, and whether all are finite.
template <class T>
struct Exponents {
  using Bits = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;
  static constexpr int kMantissa = std::is_same_v<T, float> ? 23 : 52;
  static constexpr Bits kLargest = std::numeric_limits<Bits>::max();

  Bits least = kLargest, most = 0;  // of the magnitudes' bits, those of 0 in the place of the largest, less 1

  void Add(const T* numbers, int64_t count) {
    Bits low = least, high = most;  // not members, which the loop would have to store each time
    for (int64_t i = 0; i < count; ++i) {
      Bits bits;
      std::memcpy(&bits, numbers + i, sizeof(T));
      bits &= kLargest;
      low = std::min<Bits>(low, (bits - 1) & kLargest);
      high = std::max(high, bits);
    }
    least = low, most = high;
  }
  void Add(const Exponents& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
  int64_t Least() const {
    return least == kLargest ? int64_t{1} << 30 : std::max<int64_t>(1, (least + 1) >> kMantissa);
  }
  bool IsFinite() const { return most >> kMantissa < (kLargest >> kMantissa); }
};

template <class T>
Exponents<T> ExponentsOf(const T* numbers, int64_t count) {
  constexpr int64_t kPiece = 1 << 16;
  std::vector<Exponents<T>> found(static_cast<size_t>((count + kPiece - 1) / kPiece));
  ParallelFor(static_cast<int64_t>(found.size()), [&](int64_t piece) HWY_ATTR {
    found[piece].Add(numbers + piece * kPiece, std::min(kPiece, count - piece * kPiece));
  });
  Exponents<T> all;
  for (const auto& one : found) all.Add(one);
  return all;
}

/// A chain, which begins at +0, becomes -0 only where a product that is not 0 is less than the least number: not where
/// each is a whole multiple of that.
template <class T>
void FindRange(const ConvRangeArgs<T>& args) {
  const Exponents<T> a = ExponentsOf(args.a, args.num_a), b = ExponentsOf(args.b, args.num_b);
  constexpr int64_t kEnough = std::is_same_v<T, float> ? 151 : 1076;
  *args.needs_mask = !a.IsFinite() || !b.IsFinite() || a.Least() + b.Least() < kEnough;
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
