// SPDX-License-Identifier: MIT
// The quick step of logarithms of floats, in floats. Constants from tools/coefficients/log.py.
//
// v = 2^e m, m in [0.7083, 1.4167), in one of 8 cells in each of which c is near 1 / m and of so few bits that c m - 1
// = r is a float, |r| <= 1/16: ln v is e ln 2 - ln c + ln(1 + r). In the cell of 1, c = 1.

REPDL_TABLE(FloatLogReciprocals, float, 8, 0x1.6p+0f, 0x1.4p+0f, 0x1.2p+0f, 0x1.1p+0f, 1.0f, 0x1.dp-1f, 0x1.ap-1f,
            0x1.8p-1f)
// -ln c, in a part of 17 bits after the point, so that its sum with e ln 2 is exact, and the rest.
REPDL_TABLE(FloatLogs, float, 8, -0x1.4618p-2f, -0x1.c9p-3f, -0x1.e27p-4f, -0x1.f0ap-5f, 0.0f, 0x1.9338p-4f,
            0x1.a94p-3f, 0x1.2696p-2f)
REPDL_TABLE(FloatLogsRest, float, 8, -0x1.78438cp-19f, 0x1.070cacp-20f, -0x1.db8abcp-22f, -0x1.86008cp-20f, 0.0f,
            -0x1.0d1536p-19f, -0x1.2c3752p-19f, 0x1.089a6ep-21f)

/// ln(v), or that of v + v_low, |v_low| < 2^-22.4 v, as high + low for a normal v > 0. It is off by less than `bound`,
/// and so are low + bound and low - bound as rounded.
//
// ln(v) = base + (r - r^2 / 2) + r^3 p(r) where base = e ln 2 - ln c is exact but for base_low. Errors in units of r^2
// 2^-30: of r^3 as it counts in r^3 p, |p| < 0.35, 2.8; of p, its coefficients and roundings, 1.9; of `low`, with and
// without the bound, 2.8. Where base is not 0, it is not less than 0.06, and the roundings of what is added to the
// other low parts and of the constants count: below 2^-37.5 |base|. Where |r| < 2^-21, which is a few floats next to 1,
// those of near_low count too: all floats have been tried.
//
// Of a sum, r_low / (1 + r) is taken as r_low (1 - r + r^2), by which 14 units more are lost. v_low may be off by 6
// 2^-24 of itself; what is made of it loses less than 8 2^-24 of it.
template <bool kSum, class D, class V>
REPDL_LANE V QuickLogOfFloats(D d, V v, [[maybe_unused]] V v_low, V& low, V& bound) {
  const IntTag<D> di;
  // Above the least m: e in the bits of the exponent, and the cell in the three below.
  const auto bits = Sub(BitCast(di, v), Set(di, 0x3f355556));
  const auto exponent = And(bits, Set(di, -0x800000)), cell = ShiftRightLogical<20>(bits);
  const V e = FloatOf(ShiftRight<23>(bits)), m = BitCast(d, Sub(BitCast(di, v), exponent));
  const V c = LookUp<8>(d, FloatLogReciprocals(), cell);
  const V r = Fma(m, c, Set(d, -1.0f)), square = Mul(r, r);
  V p = Fma(Set(d, 0x1.26826ep-3f), r, Set(d, -0x1.56e5fcp-3f));
  p = Fma(p, r, Set(d, 0x1.99984cp-3f));
  p = Fma(p, r, Set(d, -0x1.ffff6cp-3f));
  p = Fma(p, r, Set(d, 0x1.555556p-2f));
  const V half = Mul(r, Set(d, -0.5f));
  const V near = Fma(half, r, r), near_low = Fma(half, r, Sub(r, near));
  const V base = Fma(e, Set(d, 0x1.62e4p-1f), LookUp<8>(d, FloatLogs(), cell));
  V error, base_low = Fma(e, Set(d, 0x1.7f7d1cp-20f), LookUp<8>(d, FloatLogsRest(), cell));
  const V high = FastTwoSum(base, near, error);
  bound = Fma(square, Set(d, kSum ? 0x1.8p-26f : 0x1p-27f), Mul(Abs(base), Set(d, 0x1p-37f)));
  if constexpr (kSum) {
    const V r_low = Mul(Mul(v_low, BitCast(d, Sub(Set(di, 0x3f800000), exponent))), c);
    base_low = Add(base_low, Fma(Sub(square, r), r_low, r_low));
    bound = Fma(Abs(r_low), Set(d, 0x1p-20f), bound);
  }
  low = Fma(Mul(square, r), p, Add(Add(error, near_low), base_low));
  return high;
}

template <class D, class V>
REPDL_LANE V QuickLogOfFloat(D d, V v, V& low, V& bound) {
  return QuickLogOfFloats<false>(d, v, Zero(d), low, bound);
}

/// The same to the base whose logarithm has this reciprocal. The roundings of the low part's product, and that of what
/// `reciprocal_low` leaves out of it, count as that of low before.
template <class D, class V>
REPDL_LANE V QuickLogOfFloat(D d, V v, float reciprocal, float reciprocal_low, V& low, V& bound) {
  const V log = QuickLogOfFloat(d, v, low, bound), c = Set(d, reciprocal);
  const V high = Mul(log, c);
  low = Fma(low, c, Fma(log, Set(d, reciprocal_low), Fma(log, c, Neg(high))));
  bound = Mul(bound, Set(d, 1.5f * reciprocal));
  return high;
}

/// high + low, a logarithm of x that is off by `bound`, rounded; F()(d, x) where that is not certain, or x not normal.
template <class F, class D, class V>
REPDL_LANE V IfCertainLogOfFloat(D d, V high, V low, V bound, V x) {
  auto certain = And(Ge(x, Set(d, 0x1p-126f)), Lt(x, Inf(d)));
  const V y = RoundedWithin(high, low, bound, certain);
  return IfCertain<F>(d, certain, y, x);
}
