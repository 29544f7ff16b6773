// SPDX-License-Identifier: MIT
/*! logit
`log(x / (1 - x))`, correctly rounded as one function: the inverse of sigmoid. logit(±0) = -inf, logit(1) = +inf,
logit(1/2) = +0, NaN for x < 0 and for x > 1.
*/

/// y inside of (0, 1), else what logit is.
template <class D, class V>
REPDL_LANE V LogitSpecials(D d, V x, V y) {
  const V zero = Zero(d), one = Set(d, 1.0), infinity = Inf(d);
  y = IfThenElse(Eq(x, zero), Neg(infinity), IfThenElse(Eq(x, one), infinity, y));
  return IfThenElse(And(Ge(x, zero), Le(x, one)), y, Sub(infinity, infinity));
}

// With v = x / (1 - x) and the scale of v, v scale - 1 is (x scale - (1 - x)) / (1 - x), whose numerator is rounded once.
struct LogitWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V log2;
    const V rest = Sub(Set(d, 1.0), x), scale = LogScale(d, Div(x, rest), log2);
    const V y = LogOf(d, Div(Fma(x, scale, Neg(rest)), rest), log2);
    // Of all floats one has a logit so near to the middle of two, 2^-56 of it above, that a double cannot tell.
    return LogitSpecials(d, x, Patch(d, x, y, 0x1.13986cp-22, -0x1.e59d8ap+3));
  }
};

struct LogitOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return ViaDouble(LogitWide(), x);
  }
};

// In floats: of x / (1 - x) as a sum, whose low part is off by less than 6 2^-24 of itself.
template <class V>
REPDL_LANE V Logit(V x) {
  const auto d = TagFor(x);
  const V one = Set(d, 1.0f);
  V rest_low, low, bound;
  const V rest = FastTwoSum(one, Neg(x), rest_low), inverse = Div(one, rest);
  const V odds = Mul(x, inverse), minus_odds = Neg(odds);
  const V odds_low = Mul(Fma(minus_odds, rest_low, Fma(minus_odds, rest, x)), inverse);
  const V high = QuickLogOfFloats<true>(d, odds, odds_low, low, bound);
  auto certain = And(Ge(x, Set(d, 0x1p-126f)), Lt(x, one));
  const V y = RoundedWithin(high, low, bound, certain);
  return IfCertain<LogitOfAnyFloat>(d, certain, y, x);
}

struct LogitFormula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    V n;
    const V one = Set(d, 1.0);
    const N rest = Plus(Exactly<N>(d, one), Exactly<N>(d, Neg(x)));
    const N odds = Over(Exactly<N>(d, Moderate(d, x, n)), rest);
    const N t = Over(Exactly<N>(d, Sub(Add(x, x), one)), rest);  // exact where it is taken
    return LogNumber(d, odds, n, Lt(Abs(V(t.high)), Set(d, 0.0048)), t);
  }
};

struct LogitDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return LogitSpecials(d, x, Correctly<LogitFormula>(d, x));
  }
};
