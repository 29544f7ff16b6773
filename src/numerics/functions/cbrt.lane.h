// SPDX-License-Identifier: MIT
/*! cbrt
`cbrt(x)`, correctly rounded, so exact for cubes. cbrt(±0) = ±0, cbrt(±inf) = ±inf.
*/

// c near 1 / m, for m in each sixteenth of [1, 2); and 1 / cbrt(c). Constants from tools/coefficients/root.py.
REPDL_TABLE(CbrtReciprocals, double, 16, 0x1.f07c1f08p-1, 0x1.d41d41d8p-1, 0x1.bacf915p-1, 0x1.a41a41a8p-1,
            0x1.8f9c18f8p-1, 0x1.7d05f418p-1, 0x1.6c16c17p-1, 0x1.5c9882b8p-1, 0x1.4e5e0a7p-1, 0x1.4141414p-1,
            0x1.3521cfbp-1, 0x1.29e412ap-1, 0x1.1f7047ep-1, 0x1.15b1e5f8p-1, 0x1.0c9714f8p-1, 0x1.04104108p-1)
REPDL_TABLE(CbrtRoots, double, 16, 0x1.02a3ad2eec2dbp+0, 0x1.07c3236a4f9ecp+0, 0x1.0cb18b60e407cp+0,
            0x1.11733d655ec0ap+0, 0x1.160bfc13454d9p+0, 0x1.1a7f0eab78be8p+0, 0x1.1ecf55d99fa19p+0,
            0x1.22ff5c3007dcdp+0, 0x1.2711636288fbap+0, 0x1.2b076f13804a9p+0, 0x1.2ee34da49828ap+0,
            0x1.32a69f7846032p+0, 0x1.3652dd0c07cfbp+0, 0x1.39e95c05c4406p+0, 0x1.3d6b537b3d9d1p+0,
            0x1.40d9df93534f5p+0)

// |x| = 2^e m and r = m c - 1, so cbrt|x| = 2^(e / 3) / cbrt(c) cbrt(1 + r).
struct CbrtWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const IntTag<D> di;
    const V a = Abs(x);
    const auto bits = BitCast(di, a);
    const auto cell = ShiftRightLogical<48>(bits);
    const auto exponent = And(bits, Set(di, 0x7ff0000000000000));
    const V m = BitCast(d, Or(And(bits, Set(di, 0x000fffffffffffff)), Set(di, 0x3ff0000000000000)));
    const V r = Fma(m, LookUp<16>(d, CbrtReciprocals(), cell), Set(d, -1.0));
    // e + 3071, in the bits below the exponent of 2048, is 3 n + j with j = -1, 0, 1, so e / 3 = n - 1024 + (1 + j) / 3.
    const V e = BitCast(d, Or(ShiftRightLogical<11>(exponent), Set(di, 0x40a0000000000000)));
    const V shift = Set(d, 0x1.8p52 - 1024);  // for n - 1024 in the low bits
    const V shifted = Fma(e, Set(d, 0x1.5555555555555p-2), shift);
    const V j = Fma(Sub(shifted, shift), Set(d, -3.0), e);
    // 2^((1 + j) / 3)
    const V power =
        Fma(Fma(j, Set(d, 0x1.14b8b2228926cp-5), Set(d, 0x1.2cbfd4a7adc79p-2)), j, Set(d, 0x1.428a2f98d728bp+0));
    const V root = Mul(power, LookUp<16>(d, CbrtRoots(), cell));
    const V r2 = Mul(r, r);
    const V p01 = Fma(Set(d, -0x1.c71c71c74413bp-4), r, Set(d, 0x1.555555555554dp-2));
    const V p23 = Fma(Set(d, -0x1.511e852d5256fp-5), r, Set(d, 0x1.f9add3c1a817dp-5));
    const V p45 = Fma(Set(d, -0x1.810617a7302d8p-6), r, Set(d, 0x1.ee70fae24ea71p-6));
    const V p46 = Fma(Set(d, 0x1.37cf9db1e5b9bp-6), r2, p45);
    const V p = Fma(Fma(p46, r2, p23), r2, p01);
    V y = Fma(Mul(root, r), p, root);
    y = BitCast(d, Add(BitCast(di, y), ShiftLeft<52>(BitCast(di, shifted))));
    // For 0 this is far below the least float.
    return CopySign(IfThenElse(Lt(a, Inf(d)), y, a), x);
  }
};

// A step of Newton's method, with the rest x - y^3 in two doubles.
struct CbrtDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V y = CbrtWide()(d, x);
    V square_low, cube_low;
    const V square = TwoProd(y, y, square_low);
    const V cube = MulPairs(square, square_low, y, Zero(d), cube_low);
    const V low = Div(Sub(Sub(x, cube), cube_low), Mul(square, Set(d, 3.0)));
    const V a = Abs(x);
    const auto usual = And(Ge(a, Set(d, 0x1p-900)), Le(a, Set(d, 0x1p990)));
    return RoundOr(d, usual, y, low, Mul(y, Set(d, 0x1p-90)), accurate::Cbrt, x);
  }
};

template <class V>
REPDL_LANE V Cbrt(V x) {
  return ViaDouble(CbrtWide(), x);
}
