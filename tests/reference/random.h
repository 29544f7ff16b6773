// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace repdl::reference {

/// The output function of SplitMix64 of Steele, Lea and Flood.
inline uint64_t Mixed(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// By how much the state of SplitMix64 grows.
inline constexpr uint64_t kMixedStep = 0x9e3779b97f4a7c15;

/// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t state) : state_(state) { Next(); }

  uint64_t Next() { return Mixed(state_ += kMixedStep); }
  /// In [low, high].
  int64_t Integer(int64_t low, int64_t high) { return low + static_cast<int64_t>(Next() % (high - low + 1)); }
  /// In [low, high).
  double Number(double low, double high) { return low + (high - low) * static_cast<double>(Next() >> 11) * 0x1p-53; }
  /// 2^e m with a random m in [1, 2).
  double OfExponent(int64_t e) { return std::ldexp(Number(1, 2), static_cast<int>(e)); }

 private:
  uint64_t state_;
};

}  // namespace repdl::reference
