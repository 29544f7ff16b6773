// SPDX-License-Identifier: MIT
/*! digamma
The derivative of log(gamma(x)), correctly rounded. digamma(±0) = ∓inf, digamma(+inf) = +inf; it is NaN at the integers
below 0 and at -inf.
*/

// In double.
struct DigammaWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low, error;
    auto usual = Lt(x, x);
    const V high = DigammaQuick(d, x, low, error, usual);
    const V infinity = Inf(d);
    V pole = IfThenElse(Lt(x, Zero(d)), Sub(infinity, infinity), x);  // inf and NaN stay
    pole = IfThenElse(Eq(x, Zero(d)), Neg(CopySign(infinity, x)), pole);
    return IfThenElse(usual, RoundToOdd(high, low), pole);
  }
};

template <class V>
REPDL_LANE V Digamma(V x) {
  return ViaDouble(DigammaWide(), x);
}

struct DigammaDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low, error;
    auto usual = Lt(x, x);
    const V high = DigammaQuick(d, x, low, error, usual);
    return RoundOr(d, usual, high, low, error, accurate::Digamma, x);
  }
};
