// SPDX-License-Identifier: MIT
// What sin, cos and tan share: the remainder of a large argument, and the sign of a result.

// Bits of 1 / pi from tools/coefficients, in parts of 28, 28, 28 and 53. Entry i is for numbers in
// [2^(16 i + 1), 2^(16 i + 17)): the bits before it make multiples of 2.
REPDL_TABLE(InversePi0, double, 8, 0x1.4000000000000p-2, 0x1.45f3000000000p-2, 0x1.f306dc8000000p-10,
            0x1.b939104000000p-27, 0x1.1054a7c000000p-43, 0x1.4fe13a8000000p-60, 0x1.3abe8f8000000p-76,
            0x1.a3ea69a000000p-90)
REPDL_TABLE(InversePi1, double, 8, 0x1.7cc1b70000000p-8, 0x1.b727220000000p-24, 0x1.c882a52000000p-38,
            0x1.4a7f09c000000p-55, 0x1.84eafa2000000p-70, 0x1.f47d4d0000000p-87, 0x1.4d37700000000p-103,
            0x1.b81b6c4000000p-118)
REPDL_TABLE(InversePi2, double, 8, 0x1.3910548000000p-35, 0x1.529fc20000000p-53, 0x1.f84eafa000000p-66,
            0x1.5f47d4c000000p-83, 0x1.ea69bb8000000p-98, 0x1.bb81b6c000000p-114, 0x1.b6c52b2000000p-130,
            0x1.2b32788000000p-146)
REPDL_TABLE(InversePi3, double, 8, 0x1.3f84eafa3ea69p-62, 0x1.d5f47d4d37702p-79, 0x1.f534ddc0db628p-97,
            0x1.377036d8a5664p-111, 0x1.b6c52b3278870p-130, 0x1.4acc9e21c820cp-144, 0x1.278872083fca2p-158,
            0x1.c820ff28b1d5cp-176)

/// a = (n + offset) pi / scale + r, |r| <= pi / (2 scale), for 2^17 <= a < 2^128 of 24 bits; scale is 1 or 2, and n is
/// right modulo 2 (Payne and Hanek, 1983). r has a relative error of about 2^-53 however near a comes to r = 0.
template <class D, class V>
REPDL_LANE V LargeRemainder(D d, V a, double scale, double offset, V& n) {
  const IntTag<D> di;
  const auto i = ShiftRight<56>(BitCast(di, a));
  const V x = Mul(a, Set(d, scale));
  // Each product but the last is exact; multiples of 2 are taken off the first. Each is so much smaller than the one
  // before that FastTwoSum is exact: where the first operand is the smaller one, the sum is.
  const V p0 = Mul(x, LookUp<8>(d, InversePi0(), i));
  const V p1 = Mul(x, LookUp<8>(d, InversePi1(), i));
  const V p2 = Mul(x, LookUp<8>(d, InversePi2(), i));
  const V first = Sub(Sub(p0, Mul(Round(Mul(p0, Set(d, 0.5))), Set(d, 2.0))), Set(d, offset));
  n = Round(Add(first, p1));
  V error1, error2;
  V f = FastTwoSum(Sub(first, n), p1, error1);
  f = FastTwoSum(f, p2, error2);
  const V tail = Fma(x, LookUp<8>(d, InversePi3(), i), Add(error1, error2));
  const V pi = Set(d, 0x1.921fb54442d18p+1 / scale), pi_low = Set(d, 0x1.1a62633145c07p-53 / scale);
  return Fma(f, pi, Fma(f, pi_low, Mul(tail, pi)));
}

/// y, negated where the integer in the low bits of n + 1.5 * 2^52 is odd.
template <class D, class V>
REPDL_LANE V NegateOdd(D d, V y, V n_biased) {
  const IntTag<D> di;
  return BitCast(d, Xor(BitCast(di, y), ShiftLeft<63>(BitCast(di, n_biased))));
}

/// y with its sign changed where x has one.
template <class D, class V>
REPDL_LANE V XorSign(D d, V y, V x) {
  const IntTag<D> di;
  const auto sign = And(BitCast(di, x), Set(di, INT64_MIN));
  return BitCast(d, Xor(BitCast(di, y), sign));
}
