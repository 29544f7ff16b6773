// SPDX-License-Identifier: MIT
/*! zeta
Hurwitz's zeta function, the sum of `(q + k)^-s` over k = 0, 1, …, correctly rounded. That is tested, not proven. +inf for
s = 1, even if q is NaN, and at the integers q <= 0 and q = -inf for s > 1. For q < 0 the sum has powers of negative numbers, so it is NaN
unless s is an integer; for s < 1 it is NaN. zeta(s, +inf) = +0; zeta(+inf, q) = +0 for q > 1, 1 for q = 1 and else +inf.
*/

struct ZetaFormula {
  static constexpr bool kScaled = true, kSized = true;
  static constexpr double kBound = 0x1p-64;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V s, V q) {
    const N sum = HurwitzZeta<N>(d, s, q, n);
    n = Limit(n, Set(d, -2000.0), Set(d, 2000.0));
    return sum;
  }
  template <class D, class V>
  static REPDL_LANE V Size(D d, V n, V sum, V, V q) {
    return HurwitzSize(d, Abs(n), sum, q);
  }

  /// z, and the values where zeta is no sum.
  template <class D, class V>
  static REPDL_LANE V Special(D d, V s, V q, V z) {
    const auto sum = IsHurwitzSum(d, s, q);
    if (!Any(d, Not(sum))) return z;
    const V zero = Zero(d), one = Set(d, 1.0), infinity = Inf(d), nan = Sub(infinity, infinity);
    // Where s > 1 and both are finite, q is below 0 or 0.
    V other = IfThenElse(Eq(Round(q), q), infinity, nan);
    const V endless = IfThenElse(Gt(q, one), zero, IfThenElse(Eq(q, one), one, infinity));
    other = IfThenElse(Eq(s, infinity), endless, other);
    other = IfThenElse(Eq(q, infinity), zero, other);
    other = IfThenElse(And(Gt(s, one), Eq(q, q)), other, IfThenElse(Eq(s, one), infinity, nan));
    return IfThenElse(sum, z, other);
  }
};

// In double.
struct ZetaWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V s, V q) const {
    return ZetaFormula::Special(d, s, q, ToOdd<ZetaFormula>(d, s, q));
  }
};

template <class V>
REPDL_LANE V Zeta(V s, V q) {
  return ViaDouble(ZetaWide(), s, q);
}

struct ZetaDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V s, V q) const {
    return ZetaFormula::Special(d, s, q, Correctly<ZetaFormula>(d, s, q));
  }
};
