// SPDX-License-Identifier: MIT
/*! sinpi
`sin(pi x)`, correctly rounded. sinpi(±n) = ±0 for every integer n >= 0, sinpi(±inf) = NaN.
*/

// In double: sin(pi f) = pi f + f^3 p(f^2) for |f| <= 1/2, p from tools/coefficients; f is exact and pi has two parts.
template <class D, class V>
REPDL_LANE V SinOfHalfTurn(D d, V f) {
  const V z = Mul(f, f);
  V p = Set(d, 0x1.9d3693baa14b2p-21);
  p = Fma(p, z, Set(d, -0x1.6f7a5f397a47cp-16));
  p = Fma(p, z, Set(d, 0x1.e8f36507eed0cp-12));
  p = Fma(p, z, Set(d, -0x1.e3074df539456p-8));
  p = Fma(p, z, Set(d, 0x1.507834854cae0p-4));
  p = Fma(p, z, Set(d, -0x1.32d2cce627d1ap-1));
  p = Fma(p, z, Set(d, 0x1.466bc6775aa82p+1));
  p = Fma(p, z, Set(d, -0x1.4abbce625be52p+2));
  p = Fma(p, z, Set(d, 0x1.1a62633145c07p-53));
  return Fma(f, Set(d, 0x1.921fb54442d18p+1), Mul(f, p));
}

// |x| = n + f; an odd n changes the sign of f, unless f is 0.
struct SinPiWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), n = Round(a);
    const V f = Add(NegateOdd(d, Sub(a, n), Add(n, Set(d, 0x1.8p52))), Zero(d));
    return XorSign(d, SinOfHalfTurn(d, f), x);
  }
};

// From 2^52 on, where the last bit of n + 1.5 * 2^52 does not tell, f is 0.
struct SinPiDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), n = Round(a), half = Set(d, 0.5), minus_two = Set(d, -2.0);
    const auto odd = NotEq(Fma(Round(Mul(n, half)), minus_two, n), Zero(d));
    const V f = Sub(a, n);
    V r_low, low;
    const V pi = Set(d, 0x1.921fb54442d18p+1);
    const V r = TwoProd(f, pi, r_low);
    const V high = SinePair(d, r, Fma(f, Set(d, 0x1.1a62633145c07p-53), r_low), low);
    const V sign = XorSign(d, IfThenElse(odd, Neg(high), high), x);
    const auto usual = And(Ge(a, Set(d, 0x1p-900)), Gt(Abs(f), Zero(d)));
    return RoundOrWithSign(d, usual, high, low, Mul(high, Set(d, 0x1p-67)), sign, accurate::SinPi, x);
  }
};

template <class V>
REPDL_LANE V SinPi(V x) {
  return ViaDouble(SinPiWide(), x);
}

/*! cospi
`cos(pi x)`, correctly rounded. cospi(n + 1/2) = +0 for every integer n, cospi(±inf) = NaN.
*/

// x / 2 = n + g, |g| <= 1/2, and cos(2 pi g) = sin(pi (1/2 - |2 g|)), exact unless |g| is too small to matter.
struct CosPiWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V half = Set(d, 0.5);
    const V turns = Mul(x, half);
    const V g = Sub(turns, Round(turns));
    return SinOfHalfTurn(d, Fma(Abs(g), Set(d, -2.0), half));
  }
};

struct CosPiDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V half = Set(d, 0.5);
    const V turns = Mul(Abs(x), half);
    const V g = Abs(Sub(turns, Round(turns)));
    // f + f_low = 1/2 - 2 g
    const V f = Fma(g, Set(d, -2.0), half);
    const V f_low = Fma(g, Set(d, -2.0), Sub(half, f));
    V r_low, low;
    const V pi = Set(d, 0x1.921fb54442d18p+1);
    const V r = TwoProd(f, pi, r_low);
    r_low = Fma(f_low, pi, Fma(f, Set(d, 0x1.1a62633145c07p-53), r_low));
    const V high = SinePair(d, r, r_low, low);
    return RoundOr(d, Gt(Abs(f), Zero(d)), high, low, Mul(high, Set(d, 0x1p-67)), accurate::CosPi, x);
  }
};

template <class V>
REPDL_LANE V CosPi(V x) {
  return ViaDouble(CosPiWide(), x);
}
