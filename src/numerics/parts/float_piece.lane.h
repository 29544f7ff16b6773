// SPDX-License-Identifier: MIT
// The quick step of smooth functions of floats, in floats: in each of some pieces of the line the function is a
// polynomial in h = x - c about a centre c. Constants from tools/coefficients/piece.py.
//
// f(c + h) = f(c) + h (f'(c) + h p(h)). Centres are floats such that h is one, and f(c) is the sum of two. So is
// f'(c), unless c is chosen so that one is enough. What is inexact is `bend`, that which p gives, where h is so small
// that it is a small part of f. Of all else less than 2^-48 of f is lost, and 2^-36 h f'(c) where f'(c) is one float.

/// f(x + x_low) as high + low + bend for a tiny x_low. The table has columns: c, f(c) and its rest, f'(c), the terms of
/// p and, with kSlopeRest, the rest of f'(c).
template <int kPieces, int kTerms, bool kSlopeRest, bool kLow, class D, class V, class VI>
REPDL_LANE V PieceOfFloats(D d, const float* table, VI index, V x, [[maybe_unused]] V x_low, V& low, V& bend) {
  const V h = Sub(x, LookUp<kPieces>(d, table, index)), value = LookUp<kPieces>(d, table + kPieces, index);
  const V slope = LookUp<kPieces>(d, table + 3 * kPieces, index);
  V p = LookUp<kPieces>(d, table + (3 + kTerms) * kPieces, index);
  for (int k = kTerms - 1; k > 0; --k) p = Fma(p, h, LookUp<kPieces>(d, table + (3 + k) * kPieces, index));
  if constexpr (kSlopeRest) {
    p = Fma(p, h, LookUp<kPieces>(d, table + (4 + kTerms) * kPieces, index));
  } else {
    p = Mul(p, h);
  }
  const V high = Fma(h, slope, value);
  low = Add(Fma(h, slope, Sub(value, high)), LookUp<kPieces>(d, table + 2 * kPieces, index));
  if constexpr (kLow) low = Fma(x_low, Fma(p, Set(d, 2.0f), slope), low);  // nearly f'(x)
  bend = Mul(p, h);
  return high;
}

template <int kPieces, int kTerms, bool kSlopeRest, class D, class V, class VI>
REPDL_LANE V PieceOfFloat(D d, const float* table, VI index, V x, V& low, V& bend) {
  return PieceOfFloats<kPieces, kTerms, kSlopeRest, false>(d, table, index, x, Zero(d), low, bend);
}

/// Whether high + low + bend rounds to y where `bend` is off by up to 2^-22.2 of itself: all floats have been tried. NaN
/// does not.
template <class D, class V>
REPDL_LANE auto PieceRounds(D d, V high, V low, V bend, V& y) {
  y = Add(high, Fma(bend, Set(d, 1.0f + 0x1.cp-23f), low));
  return Eq(y, Add(high, Fma(bend, Set(d, 1.0f - 0x1.cp-23f), low)));
}
