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
