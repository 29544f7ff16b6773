// SPDX-License-Identifier: MIT
/*! polygamma
The derivative of digamma(x) of order n, n from 1 to 170, correctly rounded: `(-1)^(n + 1) n! zeta(n + 1, x)`. That is
tested, not proven. At ±0 and the integers below 0 it has the sign of (-1)^(n + 1) and is infinite, at +inf it is a zero of
that sign, at -inf NaN. It is NaN for any other n.
*/

struct PolygammaFormula {
  static constexpr bool kScaled = true, kSized = true;
  static constexpr double kBound = 0x1p-64;
  static constexpr double kLargest = 170;

  template <class D, class V>
  static REPDL_LANE auto IsOrder(D d, V order) {
    return And(Eq(Round(order), order), And(Ge(order, Set(d, 1.0)), Le(order, Set(d, kLargest))));
  }

  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V order, V x) {
    const IntTag<D> di;
    const V one = Set(d, 1.0), half = Set(d, 0.5);
    order = IfThenElse(IsOrder(d, order), order, one);
    const N sum = HurwitzZeta<N>(d, Add(order, one), x, n);
    // The factorial, from 64 on divided by 2^7 with each factor.
    N factorial = Exactly<N>(d, one);
    for (double k = 2;; ++k) {
      const auto counts = Ge(order, Set(d, k));
      if (!Any(d, counts)) break;
      factorial = Choose(counts, Times(factorial, Set(d, k < 64 ? k : k * 0x1p-7)), factorial);
    }
    const V shift = Set(d, 0x1.8p52);
    const V exponent = Sub(BitCast(d, Add(ShiftRightLogical<52>(BitCast(di, V(factorial.high))), BitCast(di, shift))),
                           Set(d, 0x1.8p52 + 1023));
    factorial = Scaled(factorial, PowerOfTwo(d, Neg(exponent)));
    n = Add(n, Fma(Max(Sub(order, Set(d, 63.0)), Zero(d)), Set(d, 7.0), exponent));
    n = Limit(n, Set(d, -2000.0), Set(d, 2000.0));
    const V half_order = Mul(order, half);
    const V sign = IfThenElse(Eq(Round(half_order), half_order), Neg(one), one);
    return Times(Times(sum, factorial), sign);
  }
  template <class D, class V>
  static REPDL_LANE V Size(D d, V n, V sum, V order, V x) {
    return Mul(HurwitzSize(d, Fma(order, Set(d, 8.0), Abs(n)), sum, x), Set(d, 2.0));
  }

  /// z, and the values where there is no sum.
  template <class D, class V>
  static REPDL_LANE V Special(D d, V order, V x, V z) {
    const V infinity = Inf(d), nan = Sub(infinity, infinity), half_order = Mul(order, Set(d, 0.5));
    const auto is_order = IsOrder(d, order), even = Eq(Round(half_order), half_order);
    const auto sum = And(is_order, IsHurwitzSum(d, Add(order, Set(d, 1.0)), x));
    if (!Any(d, Not(sum))) return z;
    V other = IfThenElse(Eq(x, infinity), Zero(d), infinity);
    other = IfThenElse(even, Neg(other), other);
    other = IfThenElse(And(is_order, Gt(x, Neg(infinity))), other, nan);
    return IfThenElse(sum, z, other);
  }
};

// In double.
struct PolygammaWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V order, V x) const {
    return PolygammaFormula::Special(d, order, x, ToOdd<PolygammaFormula>(d, order, x));
  }
};

template <class V>
REPDL_LANE V Polygamma(V order, V x) {
  return ViaDouble(PolygammaWide(), order, x);
}

struct PolygammaDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V order, V x) const {
    return PolygammaFormula::Special(d, order, x, Correctly<PolygammaFormula>(d, order, x));
  }
};
