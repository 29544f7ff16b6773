// SPDX-License-Identifier: MIT
/*! acosh
`acosh(x)`, correctly rounded. acosh(1) = +0, acosh(x) = NaN for x < 1, acosh(+inf) = +inf.
*/

// log(x + sqrt(x^2 - 1)). x^2 - 1 is exact where it is small, so what is above 1 in the sum is as accurate as its root.
struct AcoshWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0), infinity = Inf(d);
    V error;
    const V sum = FastTwoSum(x, Sqrt(Fma(x, x, Neg(one))), error);
    V y = LogOfSum(d, sum, error);
    y = Patch(d, x, y, 0x1.b121a6p+75, 0x1.a9a3f2p+5);
    y = IfThenElse(Lt(x, infinity), y, x);
    return IfThenElse(Ge(x, one), y, Sub(infinity, infinity));
  }
};

template <class V>
REPDL_LANE V Acosh(V x) {
  return ViaDouble(AcoshWide(), x);
}
