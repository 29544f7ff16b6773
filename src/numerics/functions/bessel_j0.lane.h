// SPDX-License-Identifier: MIT
/*! bessel_j0
The Bessel function J of order 0, correctly rounded; but next to a zero of the function, a float64 may only be within
2^-90 of its ordinary size. It is 1 at ±0 and +0 at ±inf.
*/

struct BesselJ0Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return BesselWide<0, false>(d, x, accurate::BesselJ0);
  }
};

template <class V>
REPDL_LANE V BesselJ0(V x) {
  return ViaDouble(BesselJ0Wide(), x);
}

struct BesselJ0Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return BesselOf<0, false>(d, x, accurate::BesselJ0);
  }
};
