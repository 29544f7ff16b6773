// SPDX-License-Identifier: MIT
/*! bessel_j1
The Bessel function J of order 1, correctly rounded; but next to a zero of the function, a float64 may only be within
2^-90 of its ordinary size. It is ±0 at ±0 and at ±inf.
*/

struct BesselJ1Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return BesselWide<1, false>(d, x, accurate::BesselJ1);
  }
};

template <class V>
REPDL_LANE V BesselJ1(V x) {
  return ViaDouble(BesselJ1Wide(), x);
}

struct BesselJ1Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return BesselOf<1, false>(d, x, accurate::BesselJ1);
  }
};
