// SPDX-License-Identifier: MIT
/*! scaled_modified_bessel_k1
`exp(x) modified_bessel_k1(x)`, correctly rounded. It is +inf at ±0, +0 at +inf and NaN below 0.
*/

struct ScaledModifiedBesselK1Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselKWide<1, true>(d, x);
  }
};

template <class V>
REPDL_LANE V ScaledModifiedBesselK1(V x) {
  return ViaDouble(ScaledModifiedBesselK1Wide(), x);
}

struct ScaledModifiedBesselK1Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselKOf<1, true>(d, x, accurate::ScaledModifiedBesselK1);
  }
};
