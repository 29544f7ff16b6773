// SPDX-License-Identifier: MIT
/*! laguerre_polynomial_l
Laguerre's polynomial L, as chebyshev_polynomial_t: 1 at 0, else `P_1 = 1 - x`,
`P_(k + 1) = (((k + k) + (1 - x)) * P_k - k * P_(k - 1)) / (k + 1)`.
*/
struct LaguerreL {
  static constexpr bool kHasEnds = true, kHasClosed = false;
  template <class D, class V>
  static REPDL_LANE V First(D d, V x) {
    return Sub(Set(d, 1.0), x);
  }
  template <class D, class V>
  static REPDL_LANE V Step(D d, V k, V x, V now, V before) {
    const V one = Set(d, 1.0);
    return Div(Sub(Mul(Add(Add(k, k), Sub(one, x)), now), Mul(k, before)), Add(k, one));
  }
  template <class D, class V>
  static REPDL_LANE V Ends(D d, V, V x) {
    const V infinity = Inf(d);
    return IfThenElse(Eq(x, Zero(d)), Set(d, 1.0), Sub(infinity, infinity));
  }
};

REPDL_POLYNOMIAL(LaguerrePolynomialL, LaguerreL)
