// SPDX-License-Identifier: MIT
#include "random_pairs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "random.h"

namespace repdl::prove {
namespace {

using reference::Random;

/// A pattern with this exponent, biased, and a random sign and fraction.
uint32_t WithExponent(Random& random, int64_t exponent, int bits, int fraction_bits) {
  const uint64_t drawn = random.Next();
  const uint32_t sign = static_cast<uint32_t>(drawn >> 63) << (bits - 1);
  const uint32_t fraction = static_cast<uint32_t>(drawn) & ((uint32_t{1} << fraction_bits) - 1);
  return sign | static_cast<uint32_t>(exponent) << fraction_bits | fraction;
}

using Floats = std::pair<double, double>;

/// Where the op is interesting, as float32.
Floats Interesting(std::string_view op, Random& random) {
  if (op == "pow") {  // results over the whole range of the exponents
    const double x = random.Next() % 4 == 0 ? 1 + random.Number(-1, 1) * std::exp2(random.Number(-23, 0))
                                            : std::exp2(random.Number(-149, 128));
    return {x, random.Number(-151, 129) / std::log2(static_cast<float>(x))};
  }
  if (op == "logaddexp") {  // results near 0, or the sum of numbers that both count
    const double x = -std::exp2(random.Number(-20, 5));
    if (random.Next() % 16 == 0) return {x, std::log(-std::expm1(static_cast<float>(x)))};
    const double large = random.Number(-100, 100);
    return {large, large + random.Number(-20, 20)};
  }
  if (op == "xlogy") {  // logarithms of numbers near 1
    return {random.Number(-8, 8), 1 + random.Number(-1, 1) * std::exp2(random.Number(-23, 0))};
  }
  // Quotients, and sums of squares, whose last bits meet.
  const double x = random.Number(1, 2);
  return {x, x * std::exp2(random.Number(-13, 13))};
}

}  // namespace

std::pair<uint32_t, uint32_t> RandomPair(std::string_view op, DType dtype, int64_t seed, int64_t i) {
  Random random(static_cast<uint64_t>(seed) * 0xd1342543de82ef95 + static_cast<uint64_t>(i));
  const bool half = dtype == DType::kFloat16;
  const int bits = dtype == DType::kFloat32 ? 32 : 16;
  const int fraction_bits = half ? 10 : dtype == DType::kBFloat16 ? 7 : 23;
  const int64_t bias = half ? 15 : 127;
  const auto exponent = [&](int64_t e) { return std::clamp<int64_t>(e, 0, 2 * bias); };
  switch (i % 5) {
    case 0: break;
    case 1:
      return {WithExponent(random, bias + random.Integer(-8, 8), bits, fraction_bits),
              WithExponent(random, bias + random.Integer(-8, 8), bits, fraction_bits)};
    case 2: {
      const int64_t e = random.Integer(0, 2 * bias);
      return {WithExponent(random, e, bits, fraction_bits),
              WithExponent(random, exponent(e + random.Integer(-14, 14)), bits, fraction_bits)};
    }
    case 3: {  // the upper bits of the fractions only
      const uint32_t x = WithExponent(random, bias + random.Integer(-12, 12), bits, fraction_bits);
      const uint32_t y = WithExponent(random, bias + random.Integer(-3, 5), bits, fraction_bits);
      const auto shift_x = random.Integer(0, fraction_bits), shift_y = random.Integer(0, fraction_bits);
      return {x >> shift_x << shift_x, y >> shift_y << shift_y};
    }
    default:
      if (dtype != DType::kFloat32) break;
      const auto [x, y] = Interesting(op, random);
      return {std::bit_cast<uint32_t>(static_cast<float>(x)), std::bit_cast<uint32_t>(static_cast<float>(y))};
  }
  const uint64_t random_bits = random.Next();
  const auto mask = static_cast<uint32_t>((uint64_t{1} << bits) - 1);
  return {static_cast<uint32_t>(random_bits) & mask, static_cast<uint32_t>(random_bits >> 32) & mask};
}

}  // namespace repdl::prove
