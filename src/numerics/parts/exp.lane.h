// SPDX-License-Identifier: MIT
// The exponential functions' common core. Constants from tools/coefficients/exp.py.

// 2^(i / 16), the bits lowered by i 2^48: adding n 2^48 to those at i = n mod 16 gives 2^(n / 16).
REPDL_TABLE(ExpPowers, double, 16, 0x1p+0, 0x1.fb5586cf9890fp-1, 0x1.f72b83c7d517bp-1, 0x1.f387a6e756238p-1,
            0x1.f06fe0a31b715p-1, 0x1.edea64c123422p-1, 0x1.ebfdad5362a27p-1, 0x1.eab07dd485429p-1,
            0x1.ea09e667f3bcdp-1, 0x1.ea11473eb0187p-1, 0x1.eace5422aa0dbp-1, 0x1.ec49182a3f090p-1,
            0x1.ee89f995ad3adp-1, 0x1.f199bdd85529cp-1, 0x1.f5818dcfba487p-1, 0x1.fa4afa2a490dap-1)

/// 2^(n / 16) for the integer n in the low bits of `shifted` = n + 1.5 * 2^52.
template <class D, class V>
REPDL_LANE V PowerOfTwo16th(D d, V shifted) {
  const IntTag<D> di;
  const auto n = BitCast(di, shifted);
  return BitCast(d, Add(BitCast(di, LookUp<16>(d, ExpPowers(), n)), ShiftLeft<48>(n)));
}

/// e^r - 1 for |r| <= ln(2) / 32.
template <class D, class V>
REPDL_LANE V ShortExpm1(D d, V r) {
  const V r2 = Mul(r, r);
  const V low = Fma(Set(d, 0x1.555555548f86cp-3), r, Set(d, 0x1.0000000000005p-1));
  V high = Fma(Set(d, 0x1.11123aafc773ap-7), r, Set(d, 0x1.555555545e83dp-5));
  high = Fma(Set(d, 0x1.6c185e08ba440p-10), r2, high);
  return Fma(r2, Fma(high, r2, low), r);
}

/// scale e^r for |r| <= ln(2) / 32.
template <class D, class V>
REPDL_LANE V ScaledExp(D d, V scale, V r) {
  return Fma(scale, ShortExpm1(d, r), scale);
}

/// x - n ln(2) / 16 with the nearest n, but for n times the low part of ln(2) / 16; exact. Also 2^(n / 16).
template <class D, class V>
REPDL_LANE V ReduceExp(D d, V x, V& n, V& scale) {
  const V shift = Set(d, 0x1.8p52);
  const V shifted = Fma(x, Set(d, 0x1.71547652b82fep+4), shift);
  n = Sub(shifted, shift);
  scale = PowerOfTwo16th(d, shifted);
  return Fma(n, Set(d, -0x1.62e42fefa39efp-5), x);
}

/// e^x for |x| <= 700, with a relative error below 2^-52. NaN stays NaN; beyond 700 anything may come, so limit x.
template <class D, class V>
REPDL_LANE V ExpOf(D d, V x) {
  V n, scale;
  const V r = ReduceExp(d, x, n, scale);
  return ScaledExp(d, scale, Fma(n, Set(d, -0x1.abc9e3b39803fp-60), r));
}

/// The same with a relative error below 2^-52 + |x| 2^-54, and one step shorter.
template <class D, class V>
REPDL_LANE V QuickExpOf(D d, V x) {
  V n, scale;
  const V r = ReduceExp(d, x, n, scale);
  return ScaledExp(d, scale, r);
}

/// e^(high + low), low small.
template <class D, class V>
REPDL_LANE V ExpOf(D d, V high, V low) {
  V n, scale;
  const V r = ReduceExp(d, high, n, scale);
  return ScaledExp(d, scale, Add(Fma(n, Set(d, -0x1.abc9e3b39803fp-60), r), low));
}

/// em1 and `scale`, a power of two, with e^x = scale (1 + em1), |em1| < 0.42, for |x| <= 700: no table, and em1 has a
/// relative error below 2^-52. So e^x - 1 = scale em1 + (scale - 1), where only em1 is inexact.
template <class D, class V>
REPDL_LANE V ExpParts(D d, V x, V& scale) {
  const IntTag<D> di;
  const V shift = Set(d, 0x1.8p52);
  const V shifted = Fma(x, Set(d, 0x1.71547652b82fep+0), shift);
  const V n = Sub(shifted, shift);
  const V r = Fma(n, Set(d, -0x1.abc9e3b39803fp-56), Fma(n, Set(d, -0x1.62e42fefa39efp-1), x));
  const V one = Set(d, 1.0);
  scale = BitCast(d, Add(BitCast(di, one), ShiftLeft<52>(BitCast(di, shifted))));
  const V r2 = Mul(r, r), r4 = Mul(r2, r2);
  const V p01 = Fma(Set(d, 0x1.5555555555555p-3), r, Set(d, 0x1.0000000000005p-1));
  const V p23 = Fma(Set(d, 0x1.1111111110c91p-7), r, Set(d, 0x1.5555555551faap-5));
  const V p45 = Fma(Set(d, 0x1.a01a01a58a1a9p-13), r, Set(d, 0x1.6c16c17f8a862p-10));
  const V p67 = Fma(Set(d, 0x1.71de1649cb563p-19), r, Set(d, 0x1.a019a58adb3b1p-16));
  const V p89 = Fma(Set(d, 0x1.af244a85b3d24p-26), r, Set(d, 0x1.28a3a8251ddb8p-22));
  const V p03 = Fma(p23, r2, p01);
  const V p49 = Fma(Fma(p89, r2, p67), r2, p45);
  return Fma(r2, Fma(p49, r4, p03), r);
}

/// e^x - 1 for -700 <= x <= 700, with a relative error below 2^-52; +0 for -0.
template <class D, class V>
REPDL_LANE V Expm1Of(D d, V x) {
  V scale;
  const V em1 = ExpParts(d, x, scale);
  return Fma(scale, em1, Sub(scale, Set(d, 1.0)));
}
