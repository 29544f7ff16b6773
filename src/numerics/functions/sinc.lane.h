// SPDX-License-Identifier: MIT
/*! sinc
`sin(pi x) / (pi x)`, correctly rounded as one function; 1 at ±0, +0 at all other integers, NaN at ±inf.
*/

/// |x|, but of the least x a number whose sinc is 1 too.
template <class D, class V>
REPDL_LANE V SincPlace(D d, V x) {
  const V a = Abs(x), least = Set(d, 0x1p-40);
  return IfThenElse(Lt(a, least), least, a);
}

// In double; |x| = n + f, and f is exact.
struct SincWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = SincPlace(d, x), n = Round(a), f = Sub(a, n), pi = Set(d, 0x1.921fb54442d18p+1);
    const V sine = Add(NegateOdd(d, SinOfHalfTurn(d, f), Add(n, Set(d, 0x1.8p52))), Zero(d));
    return Div(sine, Mul(a, pi));
  }
};

template <class V>
REPDL_LANE V Sinc(V x) {
  return ViaDouble(SincWide(), x);
}

struct SincDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = SincPlace(d, x), n = Round(a), f = Sub(a, n), zero = Zero(d);
    const V pi = Set(d, 0x1.921fb54442d18p+1), pi_low = Set(d, 0x1.1a62633145c07p-53);
    const auto odd = NotEq(Fma(Round(Mul(n, Set(d, 0.5))), Set(d, -2.0), n), zero);
    V angle_low, sine_low, turn_low, low;
    const V angle = TwoProd(f, pi, angle_low);
    V sine = SinePair(d, angle, Fma(f, pi_low, angle_low), sine_low);
    sine = IfThenElse(odd, Neg(sine), sine);
    sine_low = IfThenElse(odd, Neg(sine_low), sine_low);
    const V turn = TwoProd(a, pi, turn_low);
    const V high = DivPairs(d, sine, sine_low, turn, Fma(a, pi_low, turn_low), low);
    const auto usual = And(Gt(Abs(f), zero), Lt(a, Set(d, 0x1p60)));
    return RoundOr(d, usual, high, low, Mul(Abs(high), Set(d, 0x1p-66)), accurate::Sinc, x);
  }
};
