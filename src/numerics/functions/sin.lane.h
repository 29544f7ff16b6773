// SPDX-License-Identifier: MIT
/*! sin
`sin(x)`, correctly rounded for every x. sin(±0) = ±0, sin(±inf) = NaN.
*/

// In double: |x| = n pi + r, |r| <= pi / 2, and sin(x) = (-1)^n sin(r), sin(r) = r + r^3 p(r^2), p from
// tools/coefficients. n times the first part of pi is within 2 of |x| and has no bit below 2^-48: the first step to r
// is exact.

/// sin(r) for |r| <= pi / 2.
template <class D, class V>
REPDL_LANE V SinOfRemainder(D d, V r) {
  const V z = Mul(r, r);
  V p = Set(d, 0x1.882d7393b2d19p-49);
  p = Fma(p, z, Set(d, -0x1.ae4354a531bcap-41));
  p = Fma(p, z, Set(d, 0x1.6123cc998e8e9p-33));
  p = Fma(p, z, Set(d, -0x1.ae6454d75aff8p-26));
  p = Fma(p, z, Set(d, 0x1.71de3a52cd7b4p-19));
  p = Fma(p, z, Set(d, -0x1.a01a01a016c7cp-13));
  p = Fma(p, z, Set(d, 0x1.1111111111181p-7));
  p = Fma(p, z, Set(d, -0x1.555555555555dp-3));
  return Fma(Mul(r, z), p, r);
}

struct SinWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), to_integer = Set(d, 0x1.8p52);
    V n_biased = Fma(a, Set(d, 0x1.45f306dc9c883p-2), to_integer);  // 1 / pi
    V n = Sub(n_biased, to_integer);
    V r = Fma(n, Set(d, -0x1.921fb54442d18p+1), a);  // pi in two parts
    r = Fma(n, Set(d, -0x1.1a62633145c07p-53), r);
    const auto large = Gt(a, Set(d, 0x1p24));
    if (Any(d, large)) {
      r = IfThenElse(large, LargeRemainder(d, a, 1.0, 0.0, n), r);
      n_biased = IfThenElse(large, Add(n, to_integer), n_biased);
    }
    return XorSign(d, NegateOdd(d, SinOfRemainder(d, r), n_biased), x);
  }
};

struct SinDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), to_integer = Set(d, 0x1.8p52);
    const V n_biased = Fma(a, Set(d, 0x1.45f306dc9c883p-2), to_integer);  // 1 / pi
    V r_low, low;
    const V r = RemainderPair<false>(d, a, Sub(n_biased, to_integer), 1.0, r_low);
    const V high = SinePair(d, r, r_low, low);
    const V sign = XorSign(d, NegateOdd(d, high, n_biased), x);
    const V error = Mul(high, Set(d, 0x1p-67));
    return RoundOrWithSign(d, Lt(a, Set(d, kLargeAngle)), high, low, error, sign, accurate::Sin, x);
  }
};

template <class V>
REPDL_LANE V Sin(V x) {
  return ViaDouble(SinWide(), x);
}

/*! cos
`cos(x)`, correctly rounded for every x. cos(±0) = 1, cos(±inf) = NaN.
*/

// The same about the zeros of cos: |x| = (n + 1/2) pi + r, cos(x) = (-1)^(n + 1) sin(r).
struct CosWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), half = Set(d, 0.5), to_integer = Set(d, 0x1.8p52 + 1);  // so that its low bits are n + 1
    V n_biased = Add(Fma(a, Set(d, 0x1.45f306dc9c883p-2), Neg(half)), to_integer);
    V n = Sub(n_biased, to_integer);
    const V h = Add(n, half);
    V r = Fma(h, Set(d, -0x1.921fb54442d18p+1), a);
    r = Fma(h, Set(d, -0x1.1a62633145c07p-53), r);
    const auto large = Gt(a, Set(d, 0x1p24));
    if (Any(d, large)) {
      r = IfThenElse(large, LargeRemainder(d, a, 1.0, 0.5, n), r);
      // Moved by a few units, for two results that are almost at a midpoint.
      r = Patch(d, a, r, 0x1.2b9622p+67, 0x1.52464d33403e7p+0);
      r = Patch(d, a, r, 0x1.4555p+51, 0x1.205f1d00ed2aep-1);
      n_biased = IfThenElse(large, Add(n, to_integer), n_biased);
    }
    return NegateOdd(d, SinOfRemainder(d, r), n_biased);
  }
};

struct CosDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), half = Set(d, 0.5), to_integer = Set(d, 0x1.8p52 + 1);
    const V n_biased = Add(Fma(a, Set(d, 0x1.45f306dc9c883p-2), Neg(half)), to_integer);
    const V h = Add(Sub(n_biased, to_integer), half);
    V r_low, low;
    const V r = RemainderPair<true>(d, a, h, 1.0, r_low);
    const V high = SinePair(d, r, r_low, low);
    const V error = Mul(high, Set(d, 0x1p-67)), sign = NegateOdd(d, high, n_biased);
    return RoundOrWithSign(d, Lt(a, Set(d, kLargeAngle)), high, low, error, sign, accurate::Cos, x);
  }
};

template <class V>
REPDL_LANE V Cos(V x) {
  return ViaDouble(CosWide(), x);
}
