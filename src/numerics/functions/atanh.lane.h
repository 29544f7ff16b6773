// SPDX-License-Identifier: MIT
/*! atanh
`atanh(x)`, correctly rounded. atanh(±0) = ±0, atanh(±1) = ±inf, atanh(x) = NaN for |x| > 1.
*/

// For x >= 0, log(1 + 2 x / (1 - x)) / 2.
struct AtanhWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0), infinity = Inf(d);
    const V a = Abs(x);
    V y = Mul(Log1pOf(d, Div(Add(a, a), Sub(one, a))), Set(d, 0.5));
    y = Patch(d, a, y, 0x1.ac6fd6p-10, 0x1.ac6feep-10);
    const V special = IfThenElse(Eq(a, one), infinity, Sub(infinity, infinity));
    return CopySign(IfThenElse(Lt(a, one), y, special), x);
  }
};

template <class V>
REPDL_LANE V Atanh(V x) {
  return ViaDouble(AtanhWide(), x);
}

// Of |x|: log(1 + 2 |x| / (1 - |x|)) / 2.
struct AtanhFormula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    const V a = Abs(x);
    const N rest = Plus(Exactly<N>(d, Set(d, 1.0)), Exactly<N>(d, Neg(a)));
    return Scaled(Log1pNumber(d, Over(Exactly<N>(d, Add(a, a)), rest)), Set(d, 0.5));
  }
};

struct AtanhDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V a = Abs(x), one = Set(d, 1.0), infinity = Inf(d);
    const V y = IfThenElse(Lt(a, Set(d, 0x1p-28)), a, Correctly<AtanhFormula>(d, x));
    const V special = IfThenElse(Eq(a, one), infinity, Sub(infinity, infinity));
    return CopySign(IfThenElse(Lt(a, one), y, special), x);
  }
};
