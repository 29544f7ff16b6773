// SPDX-License-Identifier: MIT
// Orthogonal polynomials of doubles, by their recurrences or, of high degrees, by angles.

/// What of n is left of its fraction, from -1 to 2^40; -1 for NaN.
template <class D, class V>
REPDL_LANE V PolynomialDegree(D d, V n) {
  const V zero = Zero(d), one = Set(d, 1.0), limit = Set(d, 0x1p40);
  const auto counts = Gt(n, Neg(one));
  const V a = IfThenElseZero(Gt(n, zero), IfThenElse(Lt(n, limit), n, limit));
  const V nearest = Round(a);
  return IfThenElse(counts, Sub(nearest, IfThenElseZero(Gt(nearest, a), one)), Neg(one));
}

/// Negated where n is odd.
template <class D, class V>
REPDL_LANE V NegatedOfOdd(D d, V value, V n) {
  return IfThenElse(NotEq(Mul(Round(Mul(n, Set(d, 0.5))), Set(d, 2.0)), n), Neg(value), value);
}

/// The polynomial P of x, of the degree that n says. P::First(d, x) is the value of degree 1, P::Step(d, k, x, now, before)
/// that of degree k + 1 from those of k and k - 1. Where P::kHasEnds, P::Ends(d, n, x) are values that are known, and else
/// NaN; where P::kHasClosed, so are P::Closed(d, n, x) those of degrees above P::kLimit.
template <class P>
struct OrthogonalPolynomial {
  template <class D, class V>
  REPDL_LANE_RARE V operator()(D d, V x, V given) const {
    const V zero = Zero(d), one = Set(d, 1.0), infinity = Inf(d), nan = Sub(infinity, infinity);
    const V n = PolynomialDegree(d, given);
    V result = IfThenElse(Eq(given, given), zero, nan);
    auto left = Ge(n, zero);
    if constexpr (P::kHasEnds) {
      const V at_end = P::Ends(d, n, x);
      const auto known = And(left, Eq(at_end, at_end));
      result = IfThenElse(known, at_end, result);
      left = And(left, Not(known));
    }
    if constexpr (P::kHasClosed) {
      const auto high = And(left, Gt(n, Set(d, P::kLimit)));
      if (Any(d, high)) {
        const V value = P::Closed(d, n, x);
        const auto known = And(high, Eq(value, value));
        result = IfThenElse(known, value, result);
        left = And(left, Not(known));
      }
    }
    if (!Any(d, left)) return result;
    const V most = Set(d, 0x1p17);
    V before = one, now = P::First(d, x), k = one;
    result = IfThenElse(left, IfThenElse(Eq(n, zero), one, IfThenElse(Gt(n, most), nan, now)), result);
    auto counts = And(left, And(Gt(n, one), Le(n, most)));
    while (Any(d, counts)) {
      const V next = P::Step(d, k, x, now, before);
      before = now;
      now = next;
      k = Add(k, one);
      result = IfThenElse(counts, now, result);
      counts = And(counts, And(Gt(n, k), Eq(now, now)));
    }
    return result;
  }
};
