// SPDX-License-Identifier: MIT
/*! log
`log(x)`, correctly rounded. log(±0) = -inf, log(x) = NaN for x < 0, log(1) = +0, log(+inf) = +inf.
*/

// In double: x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), s = f / (2 + f), and
// log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + s^2 p(s^2))), p from tools/coefficients, which keeps
// the exact f as the main term. The one rounding to float is right for every input: tools/prove.cc.
struct LogWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const IntTag<D> di;
    const auto bits = BitCast(di, x);
    // The exponent of x / sqrt(1/2): every float, subnormal or not, is a normal double.
    const auto shifted = Sub(bits, Set(di, 0x3fe6a09e667f3bcd));
    const auto exponent = ShiftLeft<52>(ShiftRight<52>(shifted));
    const V f = Sub(BitCast(d, Sub(bits, exponent)), Set(d, 1.0));
    // e as a double: its integer in the low bits of 1.5 * 2^52.
    const V e = Sub(BitCast(d, Add(ShiftRight<52>(shifted), Set(di, 0x4338000000000000))), Set(d, 0x1.8p52));
    const V s = Div(f, Add(f, Set(d, 2.0)));
    const V z = Mul(s, s);
    V p = Set(d, 0x1.0f623d4be64c2p-3);
    p = Fma(p, z, Set(d, 0x1.0f5ce04a58e5bp-3));
    p = Fma(p, z, Set(d, 0x1.3b20aa8894d1fp-3));
    p = Fma(p, z, Set(d, 0x1.745cde3b9b757p-3));
    p = Fma(p, z, Set(d, 0x1.c71c7258ea9dep-3));
    p = Fma(p, z, Set(d, 0x1.249249242b515p-2));
    p = Fma(p, z, Set(d, 0x1.9999999999dfep-2));
    p = Fma(p, z, Set(d, 0x1.5555555555555p-1));
    const V half_square = Mul(Mul(f, f), Set(d, 0.5));
    const V tail = Fma(s, Fma(z, p, half_square), Mul(e, Set(d, 0x1.ef35793c76730p-45)));
    // ln 2 in two parts, e times the first exact. Rounding to odd keeps the two roundings apart.
    V error;
    V y = FastTwoSum(Mul(e, Set(d, 0x1.62e42fefa3800p-1)), Sub(f, Sub(half_square, tail)), error);
    y = RoundToOdd(y, error);
    const V zero = Zero(d), infinity = BitCast(d, Set(di, 0x7ff0000000000000));
    y = IfThenElse(Eq(x, zero), Neg(infinity), y);
    y = IfThenElse(Eq(x, infinity), infinity, y);
    const V nan = BitCast(d, Set(di, 0x7ff8000000000000));
    return IfThenElse(Ge(x, zero), y, nan);
  }
};

template <class V>
REPDL_LANE V Log(V x) {
  return ViaDouble(LogWide(), x);
}
