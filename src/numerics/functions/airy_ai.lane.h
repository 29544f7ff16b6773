// SPDX-License-Identifier: MIT
/*! airy_ai
The Airy function Ai, correctly rounded; but next to a zero of the function, a float64 may only be within 2^-90 of its
ordinary size. It is +0 at ±inf.
*/

struct AiryAiWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V least = Set(d, kLargeAiry), y = Limit(x, least, Set(d, 40.0));  // from 29 on, the result rounds to 0
    const V first = Set(d, kAiryWave), last = Set(d, kFarAiry);
    V error = Zero(d);
    const V quick = QuickNearAiry(d, Limit(y, first, last), error);
    const auto decided = And(And(Ge(x, first), Le(x, last)), RoundsAlike(d, quick, error));
    if (!Any(d, Not(decided))) return quick;
    const Pair<V> result = AiryPair(d, y, error);
    const V rounded = RoundToOdd(V(result.high), V(result.low));
    const auto other = Not(Ge(x, least));
    if (Any(d, other)) return IfThenEach(d, other, accurate::AiryAiToOdd, rounded, x);
    return rounded;
  }
};

template <class V>
REPDL_LANE V AiryAi(V x) {
  return ViaDouble(AiryAiWide(), x);
}

/// The accurate step has numbers for which Ai is nearly subnormal, too.
struct AiryAiDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V y = Limit(x, Set(d, kLargeAiry), Set(d, 92.0));
    V error = Zero(d);
    const Pair<V> result = AiryPair(d, y, error);
    return RoundOr(d, Eq(x, y), V(result.high), V(result.low), error, accurate::AiryAi, x);
  }
};
