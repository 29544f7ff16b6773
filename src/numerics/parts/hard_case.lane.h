// SPDX-License-Identifier: MIT
// Which doubles, good to 2^-41 or so, do not tell how to round to a float.

/// Where y >= 0 is so near a midpoint of floats that a relative error of 2^-41 counts; where its float is subnormal or
/// 0; and where it is NaN.
template <class D, class V>
REPDL_LANE auto HardToRound(D d, V y) {
  const IntTag<D> di;
  // Midpoints end in a one and 28 zeros: not 2^12 ulps from it.
  const auto far = And(Add(BitCast(di, y), Set(di, 0x10001000)), Set(di, 0x1fffe000));
  return Not(And(MaskTo(d, Ne(far, Zero(di))), Ge(y, Set(d, 0x1p-126))));
}

/// Where y >= 0 does not clearly round to 0 as a float, nor is NaN.
template <class D, class V>
REPDL_LANE auto NotTiny(D d, V y) {
  return Gt(y, Set(d, 0x1p-151));
}
