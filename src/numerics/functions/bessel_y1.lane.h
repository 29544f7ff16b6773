// SPDX-License-Identifier: MIT
/*! bessel_y1
The Bessel function Y of order 1, correctly rounded; but next to a zero of the function, a float64 may only be within
2^-90 of its ordinary size. It is -inf at ±0, +0 at +inf and NaN below 0.
*/

struct BesselY1Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return BesselWide<1, true>(d, x, accurate::BesselY1);
  }
};

template <class V>
REPDL_LANE V BesselY1(V x) {
  return ViaDouble(BesselY1Wide(), x);
}

struct BesselY1Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return BesselOf<1, true>(d, x, accurate::BesselY1);
  }
};
