// SPDX-License-Identifier: MIT
#include "numerics/fma.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace repdl {
namespace {

using Wide = unsigned __int128;

/// bits * 2^exponent. The lowest bit also stands for all that was shifted out below it.
struct Number {
  Wide bits;
  int exponent;
  bool is_negative;
};

int TopBit(Wide bits) {
  const auto high = static_cast<uint64_t>(bits >> 64);
  return high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(static_cast<uint64_t>(bits));
}

Wide ShiftRight(Wide bits, int count) {
  if (count >= 128) return bits != 0 ? 1 : 0;
  const Wide shifted = bits >> count;
  return shifted << count == bits ? shifted : shifted | 1;
}

Number Split(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & 0xfffffffffffff;
  return {exponent == 0 ? fraction : fraction | uint64_t{1} << 52, std::max(exponent, 1) - 1075, bits >> 63 != 0};
}

/// With the top bit at place 126, which leaves one for a carry. Of zero, with an exponent below all others.
Number Normalized(const Number& x) {
  if (x.bits == 0) return {0, -100000, x.is_negative};
  const int shift = 126 - TopBit(x.bits);
  return {x.bits << shift, x.exponent - shift, x.is_negative};
}

/// To nearest, ties to even.
double Round(const Number& x) {
  if (x.bits == 0) return x.is_negative ? -0.0 : 0.0;
  const int unit = std::max(x.exponent + TopBit(x.bits) - 52, -1074);
  const int shift = unit - 2 - x.exponent;
  const Wide quarters = shift > 0 ? ShiftRight(x.bits, shift) : x.bits << -shift;
  auto units = static_cast<uint64_t>(quarters >> 2);
  const auto rest = static_cast<int>(quarters & 3);
  if (rest == 3 || (rest == 2 && (units & 1) != 0)) ++units;
  // A carry out of the fraction lands in the exponent, where it belongs.
  const uint64_t infinity = uint64_t{0x7ff} << 52;
  const uint64_t bits = unit > 971 ? infinity : std::min(infinity, (static_cast<uint64_t>(unit + 1074) << 52) + units);
  return std::bit_cast<double>(bits | uint64_t{x.is_negative} << 63);
}

}  // namespace

double FmaInIntegers(double a, double b, double c) {
  if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return a * b + c;  // the product is exact
  if (!std::isfinite(c)) return c;
  const Number x = Split(a), y = Split(b), z = Split(c);
  Number large = Normalized({x.bits * y.bits, x.exponent + y.exponent, x.is_negative != y.is_negative});
  Number small = Normalized(z);
  const auto is_smaller = [](const Number& p, const Number& q) {
    return p.exponent != q.exponent ? p.exponent < q.exponent : p.bits < q.bits;
  };
  if (is_smaller(large, small)) std::swap(large, small);
  const Wide moved = ShiftRight(small.bits, large.exponent - small.exponent);
  if (large.is_negative == small.is_negative) {
    large.bits += moved;
  } else {
    large.bits -= moved;
    if (large.bits == 0) return 0.0;
  }
  return Round(large);
}

}  // namespace repdl
