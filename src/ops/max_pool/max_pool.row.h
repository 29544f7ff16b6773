// SPDX-License-Identifier: MIT
// A step of the ops, in lane words; the contract stands in max_pool.h.

/// A NaN wins over every number, and the first NaN over later ones; of equals the first.
template <class V, class Place>
REPDL_ROW void TakeLarger(V value, Place at, V& largest, Place& place) {
  const auto loses = Or(Le(value, largest), IsNaN(largest));
  largest = IfThenElse(loses, largest, value);
  place = IfThenElse(MaskTo(TagFor(place), loses), place, at);
}
