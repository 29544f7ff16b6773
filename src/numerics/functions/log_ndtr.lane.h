// SPDX-License-Identifier: MIT
/*! log_ndtr
The logarithm of the normal distribution function, `log(erfc(-x / sqrt(2)) / 2)`, correctly rounded. log_ndtr(-inf) =
-inf, log_ndtr(+inf) = -0.
*/

/// log_ndtr(x) for x from -2^400 to 34 is the result times 2^n, off by less than `error`.
template <class D, class V>
REPDL_LANE_RARE Pair<V> LogNdtrPair(D d, V x, V& n, V& error) {
  const V zero = Zero(d), half = Set(d, 0.5), a = Abs(x), limit = Set(d, 8.4);
  const auto far = Gt(a, limit), positive = Gt(x, zero);
  const Pair<V> inverse_root_two = {Set(d, 0x1.6a09e667f3bcdp-1), Set(d, -0x1.bdd3413b26456p-55)};
  const Pair<V> z = Times(inverse_root_two, Min(a, limit));
  V tail_low, part;
  const V tail = ErfcPair(d, V(z.high), V(z.low), tail_low, part);
  const Pair<V> share = Scaled(PairOf(tail, tail_low), half), other = Negated(share);
  Pair<V> of_logarithm = Choose(positive, Plus(Pair<V>{Set(d, 1.0), zero}, other), share);
  auto near_one = And(positive, Lt(V(share.high), Set(d, 0.0048)));
  n = zero;
  if (!Any(d, far)) {
    const Pair<V> result = LogNumber(d, of_logarithm, zero, near_one, other);
    error = Mul(Abs(V(result.high)), Fma(part, Set(d, 2.0), Set(d, 0x1p-66)));
    return result;
  }
  // Far below 0 it is log(erfcx / 2) - x^2 / 2; far above, -q (1 + q / 2), q = exp(-x^2 / 2) erfcx / 2.
  V square_low;
  const V b = IfThenElseZero(far, a), square = TwoProd(b, b, square_low);
  const Pair<V> exponent = {Mul(square, Neg(half)), Mul(square_low, Neg(half))};
  const Pair<V> scaled = Scaled(FarErfcx(d, Times(inverse_root_two, Max(a, limit))), half);
  of_logarithm = Choose(far, scaled, of_logarithm);
  near_one = And(near_one, Not(far));
  Pair<V> result = LogNumber(d, of_logarithm, zero, near_one, other);
  result = Choose(far, Plus(exponent, result), result);
  const auto above = And(far, positive);
  if (Any(d, above)) {
    const Pair<V> e = ExpOver(d, Choose(above, exponent, Pair<V>{zero, zero}), n);
    const Pair<V> q = Times(e, scaled);
    const V more = Mul(Mul(V(q.high), half), PowerOfTwo(d, n));
    result = Choose(above, Negated(Times(q, Pair<V>{Set(d, 1.0), more})), result);
  }
  error = Mul(Abs(V(result.high)), Fma(IfThenElseZero(Not(far), part), Set(d, 2.0), Set(d, 0x1p-66)));
  return result;
}

struct LogNdtrWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V n, error;
    const Pair<V> result = LogNdtrPair(d, Limit(x, Set(d, -0x1p200), Set(d, 34.0)), n, error);
    const V rounded = Mul(RoundToOdd(V(result.high), V(result.low)), PowerOfTwo(d, n));
    return IfThenElse(IsNaN(x), x, rounded);
  }
};

template <class V>
REPDL_LANE V LogNdtr(V x) {
  return ViaDouble(LogNdtrWide(), x);
}

struct LogNdtrDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V n, error;
    const V y = Limit(x, Set(d, -0x1p400), Set(d, 34.0));
    const Pair<V> unscaled = LogNdtrPair(d, y, n, error);
    const V scale = PowerOfTwo(d, n);
    const Pair<V> result = Scaled(unscaled, scale);
    return RoundOr(d, Eq(x, y), V(result.high), V(result.low), Mul(error, scale), accurate::LogNdtr, x);
  }
};
