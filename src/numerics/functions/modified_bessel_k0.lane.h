// SPDX-License-Identifier: MIT
/*! modified_bessel_k0
The modified Bessel function K of order 0, correctly rounded. It is +inf at ±0, +0 at +inf and NaN below 0.
*/

struct ModifiedBesselK0Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselKWide<0, false>(d, x);
  }
};

template <class V>
REPDL_LANE V ModifiedBesselK0(V x) {
  return ViaDouble(ModifiedBesselK0Wide(), x);
}

struct ModifiedBesselK0Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselKOf<0, false>(d, x, accurate::ModifiedBesselK0);
  }
};
