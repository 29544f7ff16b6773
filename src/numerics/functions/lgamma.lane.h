// SPDX-License-Identifier: MIT
/*! lgamma
The logarithm of the absolute value of gamma(x), correctly rounded. It is +inf at ±0, ±inf and the integers below 0.
lgamma(1) = lgamma(2) = +0.
*/

// In double.
struct LgammaWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low, error;
    auto usual = Lt(x, x);
    const V high = LgammaQuick(d, x, low, error, usual);
    return IfThenElse(usual, RoundToOdd(high, low), IfThenElse(IsNaN(x), x, Inf(d)));
  }
};

template <class V>
REPDL_LANE V Lgamma(V x) {
  return ViaDouble(LgammaWide(), x);
}

struct LgammaDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low, error;
    auto usual = Lt(x, x);
    const V high = LgammaQuick(d, x, low, error, usual);
    return RoundOr(d, usual, high, low, error, accurate::Lgamma, x);
  }
};
