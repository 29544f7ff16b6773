// SPDX-License-Identifier: MIT
/*! exp10
`10^x`, correctly rounded. exp10(-inf) = +0, exp10(+inf) = +inf.
*/

// x = n log10(2) / 16 + f, its first step exact; beyond the limits the result is +0 or +inf all the same.
struct Exp10Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    x = Limit(x, Set(d, -60.0), Set(d, 60.0));
    const V shift = Set(d, 0x1.8p52);
    const V shifted = Fma(x, Set(d, 0x1.a934f0979a371p+5), shift);
    const V n = Sub(shifted, shift);
    const V f = Fma(n, Set(d, 0x1.9dc1da994fd21p-63), Fma(n, Set(d, -0x1.34413509f79ffp-6), x));
    return ScaledExp(d, PowerOfTwo16th(d, shifted), Mul(f, Set(d, 0x1.26bb1bbb55516p+1)));
  }
};

template <class V>
REPDL_LANE V Exp10(V x) {
  return ViaDouble(Exp10Wide(), x);
}

struct Exp10Formula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    const N ln10 = Constant<N>(d, 0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53, -0x1.9ebae3ae0260cp-107);
    return ExpOver(d, Times(ln10, Limit(x, Set(d, -330.0), Set(d, 310.0))), n);
  }
};

struct Exp10Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    // 10^23 is midway between two doubles; other powers of ten are not.
    return Patch(d, x, Correctly<Exp10Formula>(d, x), 23.0, 0x1.52d02c7e14af6p+76);
  }
};
