// SPDX-License-Identifier: MIT
// The logarithms' common core. Constants from tools/coefficients/log.py.
//
// v = 2^e m, m in [0.697, 1.395), in one of 16 cells in each of which c is close to 1 / m. With scale = 2^-e c and
// r = v scale - 1, |r| < 0.03, log v = (e - log2 c) ln 2 + log(1 + r). Around v = 1 the cell has c = 1, and e - log2 c is
// zero. c is of few bits, so that r is exact for a float v, and is chosen for a log2 that is almost a multiple of 2^-43:
// the sum with e is exact.

// 2^256 c, and -log2 c - 768.
REPDL_TABLE(LogReciprocals, double, 16, 0x1.6719f364p+256, 0x1.5804e124p+256, 0x1.4a28668cp+256, 0x1.3d5d63dp+256,
            0x1.3187b0ecp+256, 0x1.268ac1a4p+256, 0x1.1c527d2p+256, 0x1.12c86ae8p+256, 0x1.09ddfa4cp+256, 0x1p+256,
            0x1.e7428fp+255, 0x1.cbe629c8p+255, 0x1.b37494c8p+255, 0x1.9d79822p+255, 0x1.899bdca8p+255,
            0x1.77913ac8p+255)
REPDL_TABLE(LogLogarithms, double, 16, -0x1.803e7ee39a39dp+9, -0x1.8036927678f3p+9, -0x1.802efa3faaec6p+9,
            -0x1.8027ae067cfcap+9, -0x1.8020a96ccaeebp+9, -0x1.8019e5f00f9cep+9, -0x1.8013608510197p+9,
            -0x1.800d133232b18p+9, -0x1.8006fbdea3b91p+9, -0x1.8p+9, -0x1.7ff6daa8e8d8p+9, -0x1.7fec2ea510a98p+9,
            -0x1.7fe218c6f08c9p+9, -0x1.7fd8882704f45p+9, -0x1.7fcf706fccb72p+9, -0x1.7fc6c6555ef3p+9)

/// 1 / v, roughly, and -log2 of that, for 2^-256 < v < 2^255. Other v give finite numbers.
template <class D, class V>
REPDL_LANE V LogScale(D d, V v, V& log2) {
  const IntTag<D> di;
  // The bits of 2^256 v / 0.697: the exponent's are e + 256, and the next four say the cell.
  const auto bits = Sub(BitCast(di, v), Set(di, 0x2fe6500000000000));
  const auto cell = ShiftRightLogical<48>(bits);
  const auto exponent = And(bits, Set(di, 0x1ff0000000000000));
  // e + 768, in the bits below the exponent of 512.
  const V e = BitCast(d, Or(ShiftRightLogical<9>(exponent), Set(di, 0x4080000000000000)));
  log2 = Add(e, LookUp<16>(d, LogLogarithms(), cell));
  return BitCast(d, Sub(BitCast(di, LookUp<16>(d, LogReciprocals(), cell)), exponent));
}

/// log(1 + r) for |r| < 0.03, with a relative error below 2^-50.
template <class D, class V>
REPDL_LANE V LogNearOne(D d, V r) {
  const V r2 = Mul(r, r);
  const V p01 = Fma(Set(d, 0x1.55555555938f1p-2), r, Set(d, -0x1.fffffffffffcdp-2));
  const V p23 = Fma(Set(d, 0x1.99998c945d7afp-3), r, Set(d, -0x1.00000000b7fc0p-2));
  const V p45 = Fma(Set(d, 0x1.24f5679b9cd0dp-3), r, Set(d, -0x1.5555404e8af54p-3));
  const V p46 = Fma(Set(d, -0x1.00715eb19a4b9p-3), r2, p45);
  return Fma(r2, Fma(Fma(p46, r2, p23), r2, p01), r);
}

/// log(v) for scale and log2 as above and r = v scale - 1.
template <class D, class V>
REPDL_LANE V LogOf(D d, V r, V log2) {
  return Fma(log2, Set(d, 0x1.62e42fefa39efp-1), LogNearOne(d, r));
}

/// log(high + low) for |low| up to some units in the last place of high, with a relative error below 2^-46, of large
/// results near 2^-53.
template <class D, class V>
REPDL_LANE V LogOfSum(D d, V high, V low) {
  V log2;
  const V scale = LogScale(d, high, log2);
  return LogOf(d, Fma(low, scale, Fma(high, scale, Set(d, -1.0))), log2);
}

/// log(1 + x), as accurate, for -1 + 2^-53 <= x < 2^255.
template <class D, class V>
REPDL_LANE V Log1pOf(D d, V x) {
  const V one = Set(d, 1.0);
  V log2;
  const V scale = LogScale(d, Add(x, one), log2);
  // (1 + x) scale - 1 without the rounding of 1 + x; that of scale - 1 counts only where the result is large.
  return LogOf(d, Fma(x, scale, Sub(scale, one)), log2);
}

/// `y` where `pole` < x < inf, else what a logarithm with this pole is.
template <class D, class V>
REPDL_LANE V LogSpecials(D d, V x, V pole, V y) {
  const V infinity = Inf(d);
  y = IfThenElse(Lt(x, infinity), y, x);
  const V special = IfThenElse(Eq(x, pole), Neg(infinity), Sub(infinity, infinity));
  return IfThenElse(Gt(x, pole), y, special);
}

/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), also where it is small. It rounds to the right float for every float x.
template <class D, class V>
REPDL_LANE V Log1pExp(D d, V x) {
  const V zero = Zero(d);
  // Below the limit, the result is not more than half of the least float, or x.
  const V z = ExpOf(d, Limit(Neg(Abs(x)), Set(d, -110.0), zero));
  const V y = Add(IfThenElseZero(Gt(x, zero), x), Log1pOf(d, z));
  return Patch(d, x, y, 0x1.d483ap-12, 0x1.63017ap-1);
}
