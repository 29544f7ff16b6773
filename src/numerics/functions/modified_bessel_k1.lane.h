// SPDX-License-Identifier: MIT
/*! modified_bessel_k1
The modified Bessel function K of order 1, correctly rounded. It is +inf at ±0, +0 at +inf and NaN below 0.
*/

struct ModifiedBesselK1Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselKWide<1, false>(d, x);
  }
};

template <class V>
REPDL_LANE V ModifiedBesselK1(V x) {
  return ViaDouble(ModifiedBesselK1Wide(), x);
}

struct ModifiedBesselK1Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselKOf<1, false>(d, x, accurate::ModifiedBesselK1);
  }
};
