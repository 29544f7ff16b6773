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

template <class V>
REPDL_LANE V CosPi(V x) {
  return ViaDouble(CosPiWide(), x);
}
