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

template <class V>
REPDL_LANE V Atan(V x) {
  return ViaDouble(AtanWide(), x);
}
