// SPDX-License-Identifier: MIT
/*! igammac
The regularised upper incomplete gamma function of `input` a and `other` x, Q(a, x) = 1 - P(a, x): by the steps of igamma. It
is NaN where igamma is, else Q(a, 0) = Q(+inf, x) = 1, Q(0, x) = Q(a, +inf) = 0.
*/

// In double.
struct IgammacDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V a, V x) const {
    return IncompleteGamma<true>(d, a, x);
  }
};

template <class V>
REPDL_LANE V Igammac(V a, V x) {
  return ViaDouble(IgammacDouble(), a, x);
}
