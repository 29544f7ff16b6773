// SPDX-License-Identifier: MIT
/*! cosh
`cosh(x)`, correctly rounded. cosh(±0) = 1, cosh(±inf) = +inf.
*/

// cosh(n ln 2 + r) by the addition theorem. Beyond the limits the result is infinite all the same.
struct CoshWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V cosh_r, sinh_r, cosh_n, minus_sinh_n;
    HyperbolicParts(d, Limit(x, Set(d, -90.0), Set(d, 90.0)), 0.5, cosh_r, sinh_r, cosh_n, minus_sinh_n);
    return Sub(Mul(cosh_r, cosh_n), Mul(sinh_r, minus_sinh_n));
  }
};

template <class V>
REPDL_LANE V Cosh(V x) {
  return ViaDouble(CoshWide(), x);
}
