// SPDX-License-Identifier: MIT
/*! exp
`exp(x)`, correctly rounded. exp(-inf) = +0, exp(+inf) = +inf; results below 2^-149 round as any other.
*/

// Beyond the limits the result is +0 or +inf all the same.
struct ExpWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ExpOf(d, Limit(x, Set(d, -110.0), Set(d, 100.0)));
  }
};

template <class V>
REPDL_LANE V Exp(V x) {
  return ViaDouble(ExpWide(), x);
}
