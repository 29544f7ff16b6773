// SPDX-License-Identifier: MIT
/*! i0e
`exp(-|x|) i0(x)`, correctly rounded. i0e(±inf) = +0.
*/

struct I0eWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselWide<0, true>(d, x);
  }
};

template <class V>
REPDL_LANE V I0e(V x) {
  return ViaDouble(I0eWide(), x);
}

struct I0eDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselOf<0, true>(d, x, accurate::I0e);
  }
};
