// SPDX-License-Identifier: MIT
/*! sinh
`sinh(x)`, correctly rounded. sinh(±0) = ±0, sinh(±inf) = ±inf.
*/

// sinh(n ln 2 + r) by the addition theorem. Beyond the limits the result is infinite all the same.
struct SinhWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    // 1/2 less its last bit lowers all results by 2^-53: one would be just on a midpoint, that of 0x1.250bfep-11.
    const double half = 0x1.fffffffffffffp-2;
    V cosh_r, sinh_r, cosh_n, minus_sinh_n;
    HyperbolicParts(d, Limit(x, Set(d, -90.0), Set(d, 90.0)), half, cosh_r, sinh_r, cosh_n, minus_sinh_n);
    return CopySign(Sub(Mul(sinh_r, cosh_n), Mul(cosh_r, minus_sinh_n)), x);  // also of -0
  }
};

template <class V>
REPDL_LANE V Sinh(V x) {
  return ViaDouble(SinhWide(), x);
}

// |sinh(x)| = (t + t / (t + 1)) / 2 with t = e^|x| - 1, divided by 2^n.
struct SinhFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    const N t = Expm1Over(d, Exactly<N>(d, Limit(Abs(x), Zero(d), Set(d, 720.0))), n);
    const V down = PowerOfTwo(d, Neg(Min(n, Set(d, 250.0))));
    const N e = Plus(t, Exactly<N>(d, down));
    n = Sub(n, Set(d, 1.0));
    return Plus(t, Scaled(Over(t, e), down));
  }
};

struct SinhDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V y = CopySign(Correctly<SinhFormula>(d, x), x);
    return IfThenElse(Lt(Abs(x), Set(d, 0x1p-28)), x, y);
  }
};
