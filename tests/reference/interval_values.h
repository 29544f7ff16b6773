// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace repdl::reference {

/// Bits of MPFR's numbers from which polynomials are made.
inline constexpr int kIntervalPrecision = 200;
/// A polynomial, whose values are between 1/3 and 4/3, is this near to MPFR where they were compared.
inline constexpr double kMeasuredBound = 0x1p-94;
/// What the rounding test takes as its error elsewhere.
inline constexpr double kTestBound = 0x1p-89;

/// A function on 2^size consecutive doubles, over 2^exponent: sum of c[k] u^k, k = 0 … 7, for u in [-1, 1). The first
/// coefficients are sums of two doubles.
struct PiecePolynomial {
  static constexpr int kCoefficients = 8, kPairs = 4;

  double high[kCoefficients], low[kPairs];
  uint64_t first;  // the bits of the first double
  int size;
  int64_t exponent;
  bool subnormal;  // all results are multiples of 2^-1074 below 2^-1022; else all are larger
};

/// The positions of n random doubles in an interval of 2^size.
void DrawPositions(uint64_t seed, int size, int64_t n, uint64_t* positions);

/// The polynomial at doubles of the interval, as the sum of two doubles.
void PairsAt(const PiecePolynomial& polynomial, const uint64_t* positions, int64_t n, double* high, double* low);

/// Rounds high + low, times 2^exponent, to doubles. `undecided` gets 1 where a number that differs by up to `bound` would be
/// rounded to another double, else 0. Returns how many are undecided.
int64_t RoundPairs(const PiecePolynomial& polynomial, const double* high, const double* low, int64_t n, double bound,
                   double* results, uint64_t* undecided);

}  // namespace repdl::reference
