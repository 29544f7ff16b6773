// SPDX-License-Identifier: MIT
/*! hypot
`sqrt(x^2 + y^2)`, correctly rounded, without undue overflow or underflow. +inf if x or y is infinite, even if the other
is NaN.
*/

// Right for every x and y: in double x^2 and y^2 are exact, so x^2 + y^2 = h + low exactly. s = sqrt(h) is at most half
// an ulp from the root of h, which is at most half an ulp from that of h + low, and not both reach it: the root sought
// lies between s and its neighbour on one side. h - s^2 is a double; its sum with low, rounded, has the sign of
// h + low - s^2 and tells the side. So s is rounded to odd as the root would be, and may be rounded once more.
struct HypotWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    const IntTag<D> di;
    V low;
    const V h = TwoSum(Mul(x, x), Mul(y, y), low);
    const V s = Sqrt(h);
    const V root = RoundToOdd(s, Add(Fma(Neg(s), s, h), low));
    const V infinity = BitCast(d, Set(di, 0x7ff0000000000000));
    return IfThenElse(Or(Eq(Abs(x), infinity), Eq(Abs(y), infinity)), infinity, root);
  }
};

template <class V>
REPDL_LANE V Hypot(V x, V y) {
  return ViaDouble(HypotWide(), x, y);
}
