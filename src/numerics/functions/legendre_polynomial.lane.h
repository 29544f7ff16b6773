// SPDX-License-Identifier: MIT
/*! legendre_polynomial_p
Legendre's polynomial P, as chebyshev_polynomial_t: 1 at 1; at -1 1, or -1 if n is odd; else `P_1 = x`,
`P_(k + 1) = ((k + k + 1) * x * P_k - k * P_(k - 1)) / (k + 1)`.
*/
struct LegendreP {
  static constexpr bool kHasEnds = true, kHasClosed = false;
  template <class D, class V>
  static REPDL_LANE V First(D, V x) {
    return x;
  }
  template <class D, class V>
  static REPDL_LANE V Step(D d, V k, V x, V now, V before) {
    const V one = Set(d, 1.0);
    return Div(Sub(Mul(Mul(Add(Add(k, k), one), x), now), Mul(k, before)), Add(k, one));
  }
  template <class D, class V>
  static REPDL_LANE V Ends(D d, V n, V x) {
    const V one = Set(d, 1.0), infinity = Inf(d);
    const V other = IfThenElse(Eq(x, Neg(one)), NegatedOfOdd(d, one, n), Sub(infinity, infinity));
    return IfThenElse(Eq(x, one), one, other);
  }
};

REPDL_POLYNOMIAL(LegendrePolynomialP, LegendreP)
#undef REPDL_POLYNOMIAL
