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

struct HypotDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x, V y) const {
    V x_error, y_error, error;
    const V x_square = TwoProd(x, x, x_error), y_square = TwoProd(y, y, y_error);
    const V sum = TwoSum(x_square, y_square, error);
    const V root = Sqrt(sum);
    const V rest = Add(Fma(Neg(root), root, sum), Add(error, Add(x_error, y_error)));
    const V low = Div(rest, Add(root, root));
    const V x_magnitude = Abs(x), y_magnitude = Abs(y), least = Set(d, 0x1p-400), most = Set(d, 0x1p400);
    const auto usual =
        And(And(Ge(x_magnitude, least), Ge(y_magnitude, least)), And(Le(x_magnitude, most), Le(y_magnitude, most)));
    return RoundOr(d, usual, root, low, Mul(root, Set(d, 0x1p-100)), accurate::Hypot, x, y);
  }
};

template <class V>
REPDL_LANE V Hypot(V x, V y) {
  return ViaDouble(HypotWide(), x, y);
}
