// SPDX-License-Identifier: MIT
/*! reciprocal
`1 / x`, rounded once. reciprocal(±0) = ±inf, reciprocal(±inf) = ±0.
*/
struct ReciprocalWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Div(Set(d, 1.0), x);
  }
};

template <class V>
REPDL_LANE V Reciprocal(V x) {
  return Div(Set(TagFor(x), 1.0f), x);
}
