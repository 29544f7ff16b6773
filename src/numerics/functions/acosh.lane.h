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

// log(1 + t) with t = u + sqrt(u (u + 2)), u = x - 1 > 0; or log(2 x).
struct AcoshFormula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    const auto large = Gt(x, Set(d, 0x1p200));
    V n;
    const N big = Exactly<N>(d, Moderate(d, x, n)), one = Exactly<N>(d, Set(d, 1.0));
    const N rest = Plus(Exactly<N>(d, IfThenElse(large, Set(d, 2.0), x)), Negated(one));
    const N t = Plus(rest, Root(Times(rest, Plus(rest, Exactly<N>(d, Set(d, 2.0))))));
    const V more = IfThenElseZero(large, Add(n, Set(d, 1.0)));
    const auto near = Lt(V(t.high), Set(d, 0.0048));
    return LogNumber(d, Choose(large, big, Plus(one, t)), more, near, t);
  }
};

struct AcoshDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0), infinity = Inf(d);
    V y = Correctly<AcoshFormula>(d, x);
    y = IfThenElse(Lt(x, infinity), y, x);
    return IfThenElse(Gt(x, one), y, IfThenElse(Eq(x, one), Zero(d), Sub(infinity, infinity)));
  }
};
