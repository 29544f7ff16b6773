// SPDX-License-Identifier: MIT
// y log2(x) and 2^x for functions that test for hard cases: fast, and no better than that needs. Both count in 16ths of
// a power of two. Constants from tools/coefficients/two.py.

// c, near the reciprocal of the middle of interval i of m; and -16 log2(c) - i.
REPDL_TABLE(QuickLog2Reciprocals, double, 16, 0x1.58p+0, 0x1.4ap+0, 0x1.3dp+0, 0x1.31p+0, 0x1.26p+0, 0x1.1cp+0,
            0x1.13p+0, 0x1.0ap+0, 0x1p+0, 0x1.e6p-1, 0x1.ccp-1, 0x1.b2p-1, 0x1.9ep-1, 0x1.8ap-1, 0x1.78p-1, 0x1.66p-1)
REPDL_TABLE(QuickLog2Logs, double, 16, -0x1.b47ebf73882a1p+2, -0x1.b71d2ba7efb3cp+2, -0x1.bbbd3a0a1dcfbp+2,
            -0x1.c2baba24d0664p+2, -0x1.cc76e83bf3870p+2, -0x1.d9574f13c570dp+2, -0x1.e9c4477cd2125p+2,
            -0x1.f89bf5721556cp+2, -0x1p+3, -0x1.f3020c87acc2ap+2, -0x1.e1c824d7990d8p+2, -0x1.cbd416164f64cp+2,
            -0x1.c62171eaa6091p+2, -0x1.bcfb26f3ee02dp+2, -0x1.b7e623d2ba01cp+2, -0x1.af6d67328e220p+2)

/// x = 2^e m with m in [0.729, 1.459), as the bits of m less those of the least m, and e + 1024 above them. Where x was
/// a float: its double is normal.
template <class D, class V>
REPDL_LANE auto Normalized(D, V x) {
  const IntTag<D> di;
  return Add(BitCast(di, x), Set(di, 0x4000000000000000 - 0x3fe7555555555556));
}
template <class D, class VI>
REPDL_LANE auto NormalizedFraction(D d, VI normalized) {
  const IntTag<D> di;
  return BitCast(d, Add(And(normalized, Set(di, 0x000fffffffffffff)), Set(di, 0x3fe7555555555556)));
}

/// 16 y log2(x) for x > 0, with a relative error below 2^-48, near x = 1 too.
template <class D, class V>
REPDL_LANE V QuickYLog2(D d, V y, V x) {
  const IntTag<D> di;
  const auto normalized = Normalized(d, x);
  const V m = NormalizedFraction(d, normalized);
  // 16 (e + 1024) + i, for the interval i of m.
  const auto steps = ShiftRightLogical<48>(normalized);
  const V r = Fma(m, LookUp<16>(d, QuickLog2Reciprocals(), steps), Set(d, -1.0));
  const V counted = Sub(BitCast(d, Add(steps, BitCast(di, Set(d, 0x1.8p52)))), Set(d, 0x1.8p52 + 0x1p14));
  const V base = Add(counted, LookUp<16>(d, QuickLog2Logs(), steps));  // 0 in the interval of 1
  const V r2 = Mul(r, r), r4 = Mul(r2, r2);
  const V p01 = Fma(Set(d, -0x1.71547652b82b9p+3), r, Set(d, 0x1.71547652b82f9p+4));
  const V p23 = Fma(Set(d, -0x1.715476543c8f6p+2), r, Set(d, 0x1.ec709dc43d1c5p+2));
  const V p45 = Fma(Set(d, -0x1.ec7077aa9dfa6p+1), r, Set(d, 0x1.2776b89cbd643p+2));
  const V p67 = Fma(Set(d, -0x1.720a7f68b5e43p+1), r, Set(d, 0x1.a6b927fcaec99p+1));
  const V p = Fma(Fma(p67, r2, p45), r4, Fma(p23, r2, p01));
  return Fma(Mul(y, r), p, Mul(y, base));
}

/// 2^(x / 16) for |x| <= 15000, with a relative error below 2^-46.
template <class D, class V>
REPDL_LANE V QuickExp2(D d, V x) {
  const V shift = Set(d, 0x1.8p52);
  const V shifted = Add(x, shift);
  const V f = Sub(x, Sub(shifted, shift)), f2 = Mul(f, f);
  const V scale = PowerOfTwo16th(d, shifted);
  const V p01 = Fma(Set(d, 0x1.ebfbdff5ff94dp-11), f, Set(d, 0x1.62e42fefa3a01p-5));
  const V p23 = Fma(Set(d, 0x1.3b2c78c9b2a5dp-23), f, Set(d, 0x1.c6b08d6e2d9e8p-17));
  const V p = Fma(Fma(Set(d, 0x1.5d89e9ede157bp-30), f2, p23), f2, p01);
  return Fma(Mul(scale, f), p, scale);
}
