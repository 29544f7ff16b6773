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

// (e^|x| + e^-|x|) / 2, divided by 2^n.
struct CoshFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    const N e = ExpOver(d, Exactly<N>(d, Limit(Abs(x), Zero(d), Set(d, 720.0))), n);
    const V down = PowerOfTwo(d, Mul(Min(n, Set(d, 250.0)), Set(d, -2.0)));
    const N reciprocal = Over(Exactly<N>(d, Set(d, 1.0)), e);
    n = Sub(n, Set(d, 1.0));
    return Plus(e, Scaled(reciprocal, down));
  }
};

struct CoshDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Correctly<CoshFormula>(d, x);
  }
};
