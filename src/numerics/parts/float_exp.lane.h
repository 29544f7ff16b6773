// SPDX-License-Identifier: MIT
// The quick step of e^x of floats, in floats. Constants from tools/coefficients/exp.py.
//
// x is n ln(2) / 16 and a rest, and r = x - n c is a float, as c, the float next to ln(2) / 16, is of few bits. With
// i = n mod 16 and T, the float next to 2^(i / 16), e^x = 2^((n - i) / 16) T e^(r + delta), where delta is small: n
// times what c is off by, and what the logarithm of T is.

REPDL_TABLE(FloatExpPowers, float, 16, 0x1.0p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f,
            0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f,
            0x1.9c4918p+0f, 0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f)
REPDL_TABLE(FloatExpRests, float, 16, -0x1.ep-34f, 0x1.8cbcfp-25f, -0x1.9f88d4p-27f, 0x1.958276p-25f, 0x1.118e6ep-25f,
            0x1.3653f8p-25f, -0x1.0af66p-25f, -0x1.03a542p-27f, 0x1.24bac8p-26f, -0x1.0675a4p-25f, 0x1.62cfap-28f,
            0x1.9f1a4ep-28f, -0x1.fc0d06p-27f, -0x1.6db1cap-28f, -0x1.a94506p-28f, 0x1.5d62a8p-28f)

/// T e^(r + delta) as high + low, for |r| <= ln(2) / 32 and small delta.
//
// It is taken for T + T r + T (delta + delta r + r^2 (1 / 2 + r p(r))). Its parts in units of 2^-37, at most: the
// roundings of 1 / 2 + ..., 2 T, of the square, T / 2, and of the sum in the brackets, T; p, T; delta r^2 / 2, which
// is left out, 9 T where e^x has |x| = 87: so the constants let delta be a little larger, and of this there is only
// half; the rounding of low, 2.
template <class D, class V>
REPDL_LANE V ShortExpOfFloat(D d, V power, V r, V delta, V& low) {
  const V p = Fma(Set(d, 0x1.55560cp-5f), r, Set(d, 0x1.55571ep-3f));
  const V tail = Fma(Mul(r, r), Fma(p, r, Set(d, 0.5f)), Fma(delta, r, delta));
  const V high = Fma(power, r, power);
  low = Fma(power, tail, Fma(power, r, Sub(power, high)));
  return high;
}

/// n / 16, rounded down, as the exponent of a float; n is in the low bits of `bits`.
template <class D, class VI>
REPDL_LANE VI ExponentOf16ths(D, VI bits) {
  const IntTag<D> di;
  return ShiftLeft<19>(And(bits, Set(di, -16)));
}

/// high + low is e^x / 2^k for |x| <= 87, where `exponent` is k as the exponent of a float, and 0.97 < high < 2; with
/// kScaled it is e^x itself, for |x| <= 75. Of the former 0 to 2^-32 is missing: all floats have been tried. Without
/// the errors in the table, it would be -2^-33 to 2^-33.
template <bool kScaled = false, class D, class V, class VI>
REPDL_LANE V QuickExpOfFloat(D d, V x, V& low, VI& exponent) {
  const IntTag<D> di;
  const V shift = Set(d, 0x1.8p23f);
  const V shifted = Fma(x, Set(d, 0x1.715476p+4f), shift);
  const V n = Sub(shifted, shift);
  const auto bits = BitCast(di, shifted);
  exponent = ExponentOf16ths(d, bits);
  V power = LookUp<16>(d, FloatExpPowers(), bits);
  if constexpr (kScaled) power = BitCast(d, Add(BitCast(di, power), exponent));
  const V r = Fma(n, Set(d, -0x1.62e43p-5f), x);
  const V delta = Fma(n, Set(d, 0x1.05cdeep-33f), LookUp<16>(d, FloatExpRests(), bits));
  return ShortExpOfFloat(d, power, r, delta, low);
}

/// The end of quick exponentials: high + low times 2^k, rounded, where it is certain how with 0 to 2^-32 missing, and
/// |x| is not above the limit; else F()(d, x).
template <class F, class D, class V, class VI>
REPDL_LANE V IfCertainExpOfFloat(D d, V high, V low, VI exponent, float limit, V x) {
  const IntTag<D> di;
  auto certain = Le(Abs(x), Set(d, limit));
  // 2^-36 more for the rounding of this sum.
  const V y = RoundedBetween(high, low, Add(low, Set(d, 0x1.1p-32f)), certain);
  return IfCertain<F>(d, certain, BitCast(d, Add(BitCast(di, y), exponent)), x);
}
