// SPDX-License-Identifier: MIT
/*! erfc
`1 - erf(x)`, correctly rounded. erfc(-inf) = 2, erfc(+inf) = +0.
*/

// In double: 2 Phi(-t), t = sqrt(2) |x|, for x > 0, else 2 - 2 Phi(-t); e^(-t^2 / 2) = e^(-x^2), where x^2 is exact.
// From |x| = 10.5 on, the result is +0 or 2.
struct ErfcWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    x = Limit(x, Set(d, -10.5), Set(d, 10.5));
    const V t = Mul(Abs(x), Set(d, 0x1.6a09e667f3bcdp+0));
    V tail = NormalTail(d, t, ExpOf(d, Neg(Mul(x, x))));
    tail = Patch(d, x, tail, -0x1.d93ec4p-17, 0x1.fffdea0000004p-2);
    return Mul(Set(d, 2.0), IfThenElse(Gt(x, Zero(d)), tail, Sub(Set(d, 1.0), tail)));
  }
};

// From -6 downwards the result is as at -6; from 6 on, the accurate step computes it.
struct ErfcDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V limit = Set(d, 6.0), two = Set(d, 2.0), zero = Zero(d);
    V a = Abs(x);
    a = IfThenElse(Gt(a, limit), limit, a);
    V tail_low, part, error;
    const V tail = ErfcPair(d, a, zero, tail_low, part);
    const auto left = Lt(x, zero);
    const V high = FastTwoSum(IfThenElseZero(left, two), IfThenElse(left, Neg(tail), tail), error);
    const V low = Add(error, IfThenElse(left, Neg(tail_low), tail_low));
    return RoundOr(d, Lt(x, limit), high, low, Fma(tail, part, Mul(high, Set(d, 0x1p-100))), accurate::Erfc, x);
  }
};

template <class V>
REPDL_LANE V Erfc(V x) {
  return ViaDouble(ErfcWide(), x);
}
