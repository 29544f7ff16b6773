// SPDX-License-Identifier: MIT
/*! i1
The modified Bessel function I of order 1, correctly rounded. i1(±0) = +0, i1(±inf) = ±inf.
*/

struct I1Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselWide<1, false>(d, x);
  }
};

template <class V>
REPDL_LANE V I1(V x) {
  return ViaDouble(I1Wide(), x);
}

struct I1Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselOf<1, false>(d, x, accurate::I1);
  }
};
