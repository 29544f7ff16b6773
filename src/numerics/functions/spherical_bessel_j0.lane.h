// SPDX-License-Identifier: MIT
/*! spherical_bessel_j0
`sin(x) / x`, correctly rounded; 1 at ±0 and +0 at ±inf.
*/

/// sin(a) / a for a from 2^-30 to 2^26.
template <class D, class V>
REPDL_LANE_RARE Pair<V> SphericalBesselPair(D d, V a) {
  const V to_integer = Set(d, 0x1.8p52);
  const V n_biased = Fma(a, Set(d, 0x1.45f306dc9c883p-2), to_integer);  // 1 / pi
  V r_low, low;
  const V r = RemainderPair<false>(d, a, Sub(n_biased, to_integer), 1.0, r_low);
  const V sine = SinePair(d, r, r_low, low);
  const Pair<V> quotient = Over(PairOf(sine, low), Pair<V>{a, Zero(d)});
  return {NegateOdd(d, V(quotient.high), n_biased), NegateOdd(d, V(quotient.low), n_biased)};
}

struct SphericalBesselJ0Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), least = Set(d, 0x1p-30), y = Limit(a, least, Set(d, kLargeAngle));
    const Pair<V> pair = SphericalBesselPair(d, y);
    const V rounded = IfThenElse(Lt(a, least), Set(d, 1.0), RoundToOdd(V(pair.high), V(pair.low)));
    const auto other = Not(Le(a, y));
    if (Any(d, other)) return IfThenEach(d, other, accurate::SphericalBesselJ0, rounded, x);
    return rounded;
  }
};

template <class V>
REPDL_LANE V SphericalBesselJ0(V x) {
  return ViaDouble(SphericalBesselJ0Wide(), x);
}

struct SphericalBesselJ0Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), y = Limit(a, Set(d, 0x1p-30), Set(d, kLargeAngle));
    const Pair<V> pair = SphericalBesselPair(d, y);
    const V high = pair.high, error = Mul(Abs(high), Set(d, 0x1p-66));
    return RoundOr(d, Eq(a, y), high, V(pair.low), error, accurate::SphericalBesselJ0, x);
  }
};
