// SPDX-License-Identifier: MIT
/*! hermite_polynomial_h
Hermite's polynomial H, as chebyshev_polynomial_t: `P_1 = x + x`, `P_(k + 1) = (x + x) * P_k - (k + k) * P_(k - 1)`.
*/

/*! hermite_polynomial_he
Hermite's polynomial He, as chebyshev_polynomial_t: `P_1 = x`, `P_(k + 1) = x * P_k - k * P_(k - 1)`.
*/

struct HermiteH {
  static constexpr bool kHasEnds = false, kHasClosed = false;
  template <class D, class V>
  static REPDL_LANE V First(D, V x) {
    return Add(x, x);
  }
  template <class D, class V>
  static REPDL_LANE V Step(D, V k, V x, V now, V before) {
    return Sub(Mul(Add(x, x), now), Mul(Add(k, k), before));
  }
};

struct HermiteHe {
  static constexpr bool kHasEnds = false, kHasClosed = false;
  template <class D, class V>
  static REPDL_LANE V First(D, V x) {
    return x;
  }
  template <class D, class V>
  static REPDL_LANE V Step(D, V k, V x, V now, V before) {
    return Sub(Mul(x, now), Mul(k, before));
  }
};

REPDL_POLYNOMIAL(HermitePolynomialH, HermiteH)
REPDL_POLYNOMIAL(HermitePolynomialHe, HermiteHe)
