// SPDX-License-Identifier: MIT
/*! i0
The modified Bessel function I of order 0, correctly rounded. i0(±inf) = +inf.
*/

struct I0Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselWide<0, false>(d, x);
  }
};

template <class V>
REPDL_LANE V I0(V x) {
  return ViaDouble(I0Wide(), x);
}

struct I0Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselOf<0, false>(d, x, accurate::I0);
  }
};
