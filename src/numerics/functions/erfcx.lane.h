// SPDX-License-Identifier: MIT
/*! erfcx
`exp(x^2) erfc(x)`, correctly rounded. erfcx(-inf) = +inf, erfcx(+inf) = +0.
*/

/// erfcx(x) for x from -26.5 to 2^400 is the result times 2^n, off by less than `error`.
template <class D, class V>
REPDL_LANE_RARE Pair<V> ErfcxPair(D d, V x, V& n, V& error) {
  const V zero = Zero(d), a = Abs(x), limit = Set(d, kFarErfcx), two = Set(d, 2.0);
  const auto far = Gt(a, limit), negative = Lt(x, zero);
  V tail_low, part, square_low;
  const V tail = ErfcPair(d, Min(a, limit), zero, tail_low, part);
  const Pair<V> tails = PairOf(tail, tail_low);
  const V b = IfThenElse(And(far, Not(negative)), zero, a), square = TwoProd(b, b, square_low);
  const Pair<V> e = ExpOver(d, Pair<V>{square, square_low}, n);
  const Pair<V> other = Plus(Pair<V>{two, zero}, Negated(tails));
  Pair<V> result = Times(Choose(negative, other, tails), e);
  if (Any(d, far)) {
    const Pair<V> scaled = FarErfcx(d, Pair<V>{Max(a, limit), zero});
    const Pair<V> below = Plus(Scaled(e, two), Negated(Scaled(scaled, PowerOfTwo(d, Neg(n)))));
    result = Choose(far, Choose(negative, below, scaled), result);
    part = IfThenElse(far, zero, part);
  }
  error = Mul(V(result.high), Add(part, Set(d, 0x1p-66)));
  return result;
}

struct ErfcxWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V n, error;
    const Pair<V> result = ErfcxPair(d, Limit(x, Set(d, -16.0), Set(d, 0x1p200)), n, error);
    const V rounded = Mul(RoundToOdd(V(result.high), V(result.low)), PowerOfTwo(d, n));
    return IfThenElse(IsNaN(x), x, rounded);
  }
};

template <class V>
REPDL_LANE V Erfcx(V x) {
  return ViaDouble(ErfcxWide(), x);
}

struct ErfcxDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V n, error;
    const V y = Limit(x, Set(d, -26.5), Set(d, 0x1p400));
    const Pair<V> unscaled = ErfcxPair(d, y, n, error);
    const V scale = PowerOfTwo(d, n);
    const Pair<V> result = Scaled(unscaled, scale);
    return RoundOr(d, Eq(x, y), V(result.high), V(result.low), Mul(error, scale), accurate::Erfcx, x);
  }
};
