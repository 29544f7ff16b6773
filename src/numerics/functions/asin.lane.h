// SPDX-License-Identifier: MIT
/*! asin
`asin(x)`, correctly rounded. asin(±0) = ±0, NaN for |x| > 1.
*/

// In double: asin(s) = s + s^3 p(s^2) for |s| <= 1/2, p from tools/coefficients. Beyond, asin(x) = pi / 2 - 2 asin(s)
// and acos(x) = 2 asin(s) with s = sqrt((1 - x) / 2), where 1 - x is exact. The square root and p run side by side.

/// p(z), in pairs of terms for a shorter chain.
template <class D, class V>
REPDL_LANE V AsinPolynomial(D d, V z) {
  const V w = Mul(z, z);
  V p = Set(d, 0x1.0bb0689aee446p-5);
  p = Fma(p, w, Fma(Set(d, -0x1.5954970dd8b79p-6), z, Set(d, 0x1.6492c031a84dfp-6)));
  p = Fma(p, w, Fma(Set(d, 0x1.e2be4aefb654bp-9), z, Set(d, 0x1.6173f8e20ecb6p-7)));
  p = Fma(p, w, Fma(Set(d, 0x1.757b790581a7dp-7), z, Set(d, 0x1.ca20ce315530fp-7)));
  p = Fma(p, w, Fma(Set(d, 0x1.1c49e2b9fe45ap-6), z, Set(d, 0x1.6e8bdfa6826b1p-6)));
  p = Fma(p, w, Fma(Set(d, 0x1.f1c71a8dc29e1p-6), z, Set(d, 0x1.6db6db72260d3p-5)));
  p = Fma(p, w, Fma(Set(d, 0x1.333333332df7ep-4), z, Set(d, 0x1.5555555555578p-3)));
  return p;
}

/// s^2: x^2, or (1 - |x|) / 2 where |x| > 1/2.
template <class D, class V, class M>
REPDL_LANE V AsinSquare(D d, V a, M big) {
  const V half = Set(d, 0.5);
  return IfThenElse(big, Fma(a, Neg(half), half), Mul(a, a));
}

struct AsinWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), zero = Zero(d);
    const auto big = Gt(a, Set(d, 0.5));
    const V z = AsinSquare(d, a, big);
    const V s = IfThenElse(big, Mul(Sqrt(z), Set(d, -2.0)), a);
    const V base = IfThenElse(big, Set(d, 0x1.921fb54442d18p+0), zero);  // pi / 2 in two parts
    const V base_low = IfThenElse(big, Set(d, 0x1.1a62633145c07p-54), zero);
    return CopySign(Add(base, Add(s, Fma(Mul(s, z), AsinPolynomial(d, z), base_low))), x);
  }
};

// atan(x / sqrt(1 - x^2)).
struct AsinDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), zero = Zero(d);
    V side_low, low;
    const V side = OtherSidePair(d, a, side_low);
    const auto swap = Gt(a, side);
    V high = AtanPair(d, IfThenElse(swap, side, a), IfThenElseZero(swap, side_low), IfThenElse(swap, a, side),
                      IfThenElse(swap, zero, side_low), low);
    high = AngleFrom(d, IfThenElseZero(swap, Set(d, 0x1.921fb54442d18p+0)), IfThenElse(swap, Neg(high), high),
                     IfThenElse(swap, Neg(low), low), low);
    return RoundOrWithSign(d, Lt(a, Set(d, 1.0)), high, low, Mul(high, Set(d, 0x1p-67)), x, accurate::Asin, x);
  }
};

template <class V>
REPDL_LANE V Asin(V x) {
  return ViaDouble(AsinWide(), x);
}

/*! acos
`acos(x)`, correctly rounded. acos(1) = +0, NaN for |x| > 1.
*/

// pi / 2 - asin(x), or 0 + 2 asin(s), or pi - 2 asin(s). The first leans to the larger by 2^-53, for two results that
// are so little above a midpoint that the double is on it.
struct AcosWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), zero = Zero(d);
    const auto big = Gt(a, Set(d, 0.5));
    const auto negative = Lt(x, zero);
    const V z = AsinSquare(d, a, big);
    const V s = IfThenElse(big, CopySign(Mul(Sqrt(z), Set(d, 2.0)), x), Neg(x));
    const V base =
        IfThenElse(big, IfThenElse(negative, Set(d, 0x1.921fb54442d18p+1), zero), Set(d, 0x1.921fb54442d18p+0));
    const V base_low = IfThenElse(big, IfThenElse(negative, Set(d, 0x1.1a62633145c07p-53), zero),
                                  Set(d, 0x1.1a62633145c07p-54 + 0x1p-53));
    return Add(base, Add(s, Fma(Mul(s, z), AsinPolynomial(d, z), base_low)));
  }
};

// The angle of (x, sqrt(1 - x^2)).
struct AcosDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), zero = Zero(d);
    V side_low, low;
    const V side = OtherSidePair(d, a, side_low);
    const auto steep = Gt(side, a), left = Lt(x, zero);
    V high = AtanPair(d, IfThenElse(steep, a, side), IfThenElse(steep, zero, side_low), IfThenElse(steep, side, a),
                      IfThenElseZero(steep, side_low), low);
    const auto minus = Not(Or(And(steep, left), And(Not(steep), Not(left))));
    const V start = IfThenElse(steep, Set(d, 0x1.921fb54442d18p+0), IfThenElseZero(left, Set(d, 0x1.921fb54442d18p+1)));
    high = AngleFrom(d, start, IfThenElse(minus, Neg(high), high), IfThenElse(minus, Neg(low), low), low);
    return RoundOr(d, Lt(a, Set(d, 1.0)), high, low, Mul(high, Set(d, 0x1p-67)), accurate::Acos, x);
  }
};

template <class V>
REPDL_LANE V Acos(V x) {
  return ViaDouble(AcosWide(), x);
}
