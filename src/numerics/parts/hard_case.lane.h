// SPDX-License-Identifier: MIT
// Which doubles, good to 2^-41 or so, do not tell how to round to a float.

/// Where y is so near a midpoint of floats, which it is to round to, that a relative error of 2^(kUlps - 53) counts.
template <int kUlps, class D, class V>
REPDL_LANE auto NearMidpoint(D d, V y) {
  const IntTag<D> di;
  // Midpoints end in a one and 28 zeros: not 2^kUlps ulps from it.
  const auto far = And(Add(BitCast(di, y), Set(di, 0x10000000 + (1 << kUlps))), Set(di, 0x20000000 - (2 << kUlps)));
  return MaskTo(d, Eq(far, Zero(di)));
}

/// Where y >= 0 is so near a midpoint of floats that a relative error of 2^-41 counts; where its float is subnormal or
/// 0; and where it is NaN.
template <class D, class V>
REPDL_LANE auto HardToRound(D d, V y) {
  return Not(And(Not(NearMidpoint<12>(d, y)), Ge(y, Set(d, 0x1p-126))));
}

/// Where y >= 0 does not clearly round to 0 as a float, nor is NaN.
template <class D, class V>
REPDL_LANE auto NotTiny(D d, V y) {
  return Gt(y, Set(d, 0x1p-151));
}
