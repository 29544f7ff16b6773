// SPDX-License-Identifier: MIT
// The common core of sinh and cosh. Constants from tools/coefficients/hyperbolic.py.

/// x = n ln 2 + r for |x| <= 100: cosh(r), sinh(r), cosh(n ln 2) and -sinh(n ln 2), which is half (2^-n - 2^n). So e^-x
/// needs no division.
template <class D, class V>
REPDL_LANE void HyperbolicParts(D d, V x, double half, V& cosh_r, V& sinh_r, V& cosh_n, V& minus_sinh_n) {
  const IntTag<D> di;
  const V shift = Set(d, 0x1.8p52);
  const V shifted = Fma(x, Set(d, 0x1.71547652b82fep+0), shift);  // 1 / ln 2
  const V n = Sub(shifted, shift);
  const V r = Fma(n, Set(d, -0x1.abc9e3b39803fp-56), Fma(n, Set(d, -0x1.62e42fefa39efp-1), x));
  const auto exponent = ShiftLeft<52>(BitCast(di, shifted));
  const auto bits = BitCast(di, Set(d, half));
  const V up = BitCast(d, Add(bits, exponent)), down = BitCast(d, Sub(bits, exponent));
  cosh_n = Add(up, down);
  minus_sinh_n = Sub(down, up);
  // cosh(r) = 1 + z / 2 + z^2 p(z) and sinh(r) = r + r z q(z), z = r^2.
  const V z = Mul(r, r), z2 = Mul(z, z);
  const V p01 = Fma(Set(d, 0x1.6c16c17cf2c8ap-10), z, Set(d, 0x1.555555555316ep-5));
  const V p23 = Fma(Set(d, 0x1.28a0194ba7a89p-22), z, Set(d, 0x1.a019aa9a8d9fap-16));
  cosh_r = Fma(Fma(p23, z2, p01), z2, Fma(Set(d, 0.5), z, Set(d, 1.0)));
  const V q01 = Fma(Set(d, 0x1.111111110f6b3p-7), z, Set(d, 0x1.5555555555559p-3));
  const V q23 = Fma(Set(d, 0x1.71ddf859cbb51p-19), z, Set(d, 0x1.a01a01afe2f64p-13));
  const V q24 = Fma(Set(d, 0x1.af5eb33114f64p-26), z2, q23);
  sinh_r = Fma(Mul(r, z), Fma(q24, z2, q01), r);
}
