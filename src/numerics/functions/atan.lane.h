// SPDX-License-Identifier: MIT
/*! atan
`atan(x)`, correctly rounded. atan(±0) = ±0, atan(±inf) = ±pi / 2, rounded.
*/

// In double: atan(|x|) = base + atan(t), t = |x|, (|x| - 1) / (|x| + 1) or -1 / |x|: parts/atan.lane.h. It leans
// to the larger by 2^-53, for the one result that is so little above a midpoint that the double is on it.
struct AtanWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V num, den, base, base_low;
    AtanReduce(d, Abs(x), Set(d, 1.0), num, den, base, base_low);
    const V t = Div(num, den);
    base_low = Fma(t, Set(d, 0x1p-53), base_low);
    return CopySign(Add(base, Add(t, AtanTail(d, t, base_low))), x);
  }
};

struct AtanDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0), limit = Set(d, 0x1p64), zero = Zero(d);
    V a = Abs(x);
    a = IfThenElse(Gt(a, limit), limit, a);  // the result is the same
    const auto swap = Gt(a, one);
    V low;
    V high = AtanPair(d, IfThenElse(swap, one, a), zero, IfThenElse(swap, a, one), zero, low);
    high = AngleFrom(d, IfThenElseZero(swap, Set(d, 0x1.921fb54442d18p+0)), IfThenElse(swap, Neg(high), high),
                     IfThenElse(swap, Neg(low), low), low);
    return RoundOrWithSign(d, Le(a, limit), high, low, Mul(high, Set(d, 0x1p-67)), x, accurate::Atan, x);
  }
};

template <class V>
REPDL_LANE V Atan(V x) {
  return ViaDouble(AtanWide(), x);
}
