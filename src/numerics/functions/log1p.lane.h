// SPDX-License-Identifier: MIT
/*! log1p
`log(1 + x)`, correctly rounded. log1p(±0) = ±0, log1p(-1) = -inf, log1p(x) = NaN for x < -1, log1p(+inf) = +inf.
*/

// For -1 < x < inf.
struct Log1pOfFinite {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return CopySign(Log1pOf(d, x), x);  // for -0
  }
};

struct Log1pWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return LogSpecials(d, x, Set(d, -1.0), Log1pOfFinite()(d, x));
  }
};

struct Log1pOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V y = ViaDouble(Log1pOfFinite(), x);
    y = Patch(d, x, y, -0x1.1fffcap-17, -0x1.20001ap-17);
    y = Patch(d, x, y, -0x1.7ffffap-21, -0x1.800002p-21);
    y = Patch(d, x, y, 0x1.800006p-21, 0x1.7ffffep-21);
    y = Patch(d, x, y, 0x1.200036p-17, 0x1.1fffe6p-17);
    y = Patch(d, x, y, 0x1.7d2286p-2, 0x1.4402cp-2);
    y = Patch(d, x, y, 0x1.fb035ap-2, 0x1.9bddc2p-2);
    y = Patch(d, x, y, 0x1.b121a6p+76, 0x1.a9a3f2p+5);
    return LogSpecials(d, x, Set(d, -1.0f), y);
  }
};

// In floats, of 1 + x as an exact sum. Far below 2^-12 its low part counts too much to be certain.
template <class V>
REPDL_LANE V Log1p(V x) {
  const auto d = TagFor(x);
  V sum_low, low, bound;
  const V sum = TwoSum(Set(d, 1.0f), x, sum_low);
  const V high = QuickLogOfFloats<true>(d, sum, sum_low, low, bound);
  auto certain = And(Gt(x, Set(d, -1.0f)), Lt(x, Inf(d)));
  const V y = RoundedWithin(high, low, bound, certain);
  return IfCertain<Log1pOfAnyFloat>(d, certain, CopySign(y, x), x);
}

struct Log1pFormula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    const auto large = Gt(x, Set(d, 0x1p400));
    const N t = Exactly<N>(d, x), one = Exactly<N>(d, Set(d, 1.0));
    const N v = Choose(large, Exactly<N>(d, Mul(x, Set(d, 0x1p-700))), Plus(one, t));
    return LogNumber(d, v, IfThenElseZero(large, Set(d, 700.0)), Lt(Abs(x), Set(d, 0.0048)), t);
  }
};

struct Log1pOfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V y = IfThenElse(Lt(Abs(x), Set(d, 0x1p-54)), x, Correctly<Log1pFormula>(d, x));
    return LogSpecials(d, x, Set(d, -1.0), y);
  }
};

struct Log1pDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V v_low, low, bound;
    const V v = TwoSum(Set(d, 1.0), x, v_low);
    const V high = QuickLogOfSum<true>(d, v, v_low, low, bound);
    auto certain = And(Gt(x, Set(d, -1.0)), Lt(x, Set(d, 0x1p900)));
    const V y = RoundedWithin(high, low, bound, certain);
    return IfCertain<Log1pOfAnyDouble>(d, certain, CopySign(y, x), x);
  }
};
