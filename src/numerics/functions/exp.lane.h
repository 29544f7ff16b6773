// SPDX-License-Identifier: MIT
/*! exp
`exp(x)`, correctly rounded. exp(-inf) = +0, exp(+inf) = +inf; results below 2^-149 round as any other.
*/

// In double: x = n ln 2 + r, |r| <= ln(2) / 2, exp(r) = 1 + (r + r^2 p(r)), p from
// tools/coefficients. The one rounding to float is right for every input: tools/prove.cc.
struct ExpWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const IntTag<D> di;
    // Beyond these, the result is +inf or +0 all the same; NaN passes through.
    const V low = Set(d, -110.0), high = Set(d, 100.0);
    x = IfThenElse(Lt(x, low), low, IfThenElse(Gt(x, high), high, x));
    const V n = Round(Mul(x, Set(d, 0x1.71547652b82fep+0)));  // 1 / ln 2
    V r = Fma(n, Set(d, -0x1.62e42fefa39efp-1), x);           // ln 2 in two parts
    r = Fma(n, Set(d, -0x1.abc9e3b39803fp-56), r);
    V p = Set(d, 0x1.ad7f79e40696cp-26);
    p = Fma(p, r, Set(d, 0x1.28ad68b016a59p-22));
    p = Fma(p, r, Set(d, 0x1.71df253afd971p-19));
    p = Fma(p, r, Set(d, 0x1.a0199a16d2cc3p-16));
    p = Fma(p, r, Set(d, 0x1.a01a012a693c2p-13));
    p = Fma(p, r, Set(d, 0x1.6c16c1842672bp-10));
    p = Fma(p, r, Set(d, 0x1.1111111127b9dp-7));
    p = Fma(p, r, Set(d, 0x1.555555555088cp-5));
    p = Fma(p, r, Set(d, 0x1.55555555554fap-3));
    p = Fma(p, r, Set(d, 0x1.000000000000ap-1));
    const V y = Add(Fma(Mul(r, r), p, r), Set(d, 1.0));
    // times 2^n: n + 1.5 * 2^52 has n in its low bits.
    const auto exponent = ShiftLeft<52>(BitCast(di, Add(n, Set(d, 0x1.8p52))));
    return BitCast(d, Add(BitCast(di, y), exponent));
  }
};

template <class V>
REPDL_LANE V Exp(V x) {
  return ViaDouble(ExpWide(), x);
}
