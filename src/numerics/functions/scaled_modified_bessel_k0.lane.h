// SPDX-License-Identifier: MIT
/*! scaled_modified_bessel_k0
`exp(x) modified_bessel_k0(x)`, correctly rounded. It is +inf at ±0, +0 at +inf and NaN below 0.
*/

struct ScaledModifiedBesselK0Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselKWide<0, true>(d, x);
  }
};

template <class V>
REPDL_LANE V ScaledModifiedBesselK0(V x) {
  return ViaDouble(ScaledModifiedBesselK0Wide(), x);
}

struct ScaledModifiedBesselK0Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ModifiedBesselKOf<0, true>(d, x, accurate::ScaledModifiedBesselK0);
  }
};
