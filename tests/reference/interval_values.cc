// SPDX-License-Identifier: MIT
#include "interval_values.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "random.h"

// Loops that a compiler vectorises, for the machine at hand; they compute the same bits on all.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__) && __GNUC__ >= 12
#define REPDL_FOR_EACH_CPU __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define REPDL_FOR_EACH_CPU
#endif

namespace repdl::reference {
namespace {

constexpr uint64_t kBitsOf2To52 = 0x4330000000000000;

/// 2^e as a product of two doubles.
struct PowerOfTwo {
  explicit PowerOfTwo(int e) : first(std::ldexp(1.0, e / 2)), second(std::ldexp(1.0, e - e / 2)) {}
  double first, second;
};

}  // namespace

REPDL_FOR_EACH_CPU
void DrawPositions(uint64_t seed, int size, int64_t n, uint64_t* positions) {
  const uint64_t mask = (uint64_t{1} << size) - 1;
  for (int64_t i = 0; i < n; ++i) {
    positions[i] = Mixed(seed + static_cast<uint64_t>(i) * kMixedStep) & mask;
  }
}

REPDL_FOR_EACH_CPU
void PairsAt(const PiecePolynomial& polynomial, const uint64_t* positions, int64_t n, double* __restrict high,
             double* __restrict low) {
  const PiecePolynomial p = polynomial;
  const double half = std::ldexp(1.0, p.size - 1), inverse = 1 / half, middle = 0x1p52 + half;
  for (int64_t i = 0; i < n; ++i) {
    const double u = (std::bit_cast<double>(kBitsOf2To52 | positions[i]) - middle) * inverse;  // exact
    double h = std::fma(std::fma(std::fma(p.high[7], u, p.high[6]), u, p.high[5]), u, p.high[4]), l = 0;
    for (int k = PiecePolynomial::kPairs - 1; k >= 0; --k) {
      // c + u (h + l): the product and the sum of the large parts are exact, with what they lose.
      const double product = h * u, lost = std::fma(l, u, std::fma(h, u, -product));
      const double sum = p.high[k] + product, back = sum - p.high[k];
      l = ((p.high[k] - (sum - back)) + (product - back)) + (lost + p.low[k]);
      h = sum;
    }
    high[i] = h + l;
    low[i] = l - (high[i] - h);
  }
}

REPDL_FOR_EACH_CPU
int64_t RoundPairs(const PiecePolynomial& polynomial, const double* __restrict high, const double* __restrict low,
                   int64_t n, double bound, double* __restrict results, uint64_t* __restrict undecided) {
  // Beyond these every result is 0 or infinite.
  const auto exponent = static_cast<int>(std::clamp<int64_t>(polynomial.exponent, -1200, 2000));
  const PowerOfTwo scale(exponent);
  uint64_t count = 0;
  if (polynomial.subnormal) {
    const double quantum = std::ldexp(1.0, -1074 - exponent), shift = 0x1p52 * quantum;
    for (int64_t i = 0; i < n; ++i) {
      const double large = std::copysign(shift, high[i]);
      const double near = (high[i] + large) - large;  // a multiple of the quantum nearest to the large part
      const double rest = (high[i] - near) + low[i], beyond = std::fabs(rest) - quantum / 2;
      const double rounded = beyond > 0 ? near + std::copysign(quantum, rest) : near;
      undecided[i] = std::fabs(beyond) > bound ? 0 : 1;
      results[i] = std::copysign(rounded, high[i]) * scale.first * scale.second;
      count += undecided[i];
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      const double above = high[i] + (low[i] + bound), below = high[i] + (low[i] - bound);
      undecided[i] = above == below ? 0 : 1;
      results[i] = above * scale.first * scale.second;
      count += undecided[i];
    }
  }
  return static_cast<int64_t>(count);
}

}  // namespace repdl::reference
