// SPDX-License-Identifier: MIT
/*! i1e
`exp(-|x|) i1(x)`, correctly rounded. i1e(±0) = +0, i1e(±inf) = ±0.
*/

struct I1eWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselWide<1, true>(d, x);
  }
};

template <class V>
REPDL_LANE V I1e(V x) {
  return ViaDouble(I1eWide(), x);
}

struct I1eDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselOf<1, true>(d, x, accurate::I1e);
  }
};
