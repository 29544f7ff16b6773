// SPDX-License-Identifier: MIT
/*! bessel_y0
The Bessel function Y of order 0, correctly rounded; but next to a zero of the function, a float64 may only be within
2^-90 of its ordinary size. It is -inf at ±0, +0 at +inf and NaN below 0.
*/

struct BesselY0Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return BesselWide<0, true>(d, x, accurate::BesselY0);
  }
};

template <class V>
REPDL_LANE V BesselY0(V x) {
  return ViaDouble(BesselY0Wide(), x);
}

struct BesselY0Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return BesselOf<0, true>(d, x, accurate::BesselY0);
  }
};
