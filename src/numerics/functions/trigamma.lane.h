// SPDX-License-Identifier: MIT
/*! trigamma
The derivative of digamma(x), correctly rounded. It is +inf at ±0 and the integers below 0; trigamma(+inf) = +0,
trigamma(-inf) = NaN.
*/

// In double.
struct TrigammaWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low, error;
    auto usual = Lt(x, x);
    const V high = TrigammaQuick(d, x, low, error, usual);
    const V infinity = Inf(d), zero = Zero(d);
    V pole = IfThenElse(IsNaN(x), x, infinity);
    pole = IfThenElse(Eq(x, infinity), zero, pole);
    pole = IfThenElse(Eq(x, Neg(infinity)), Sub(infinity, infinity), pole);
    return IfThenElse(usual, RoundToOdd(high, low), pole);
  }
};

template <class V>
REPDL_LANE V Trigamma(V x) {
  return ViaDouble(TrigammaWide(), x);
}

struct TrigammaDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low, error;
    auto usual = Lt(x, x);
    const V high = TrigammaQuick(d, x, low, error, usual);
    return RoundOr(d, usual, high, low, error, accurate::Trigamma, x);
  }
};
