// SPDX-License-Identifier: MIT
// The few results that a polynomial leaves on the wrong side of a midpoint.

/// `value` where x is `at`, else y. `value` rounds to the right float.
template <class D, class V>
REPDL_LANE V Patch(D d, V x, V y, double at, double value) {
  return IfThenElse(Eq(x, Set(d, at)), Set(d, value), y);
}

/// The same for an odd function: also -`value` where x is -`at`.
template <class D, class V>
REPDL_LANE V PatchOdd(D d, V x, V y, double at, double value) {
  return IfThenElse(Eq(Abs(x), Set(d, at)), CopySign(Set(d, value), x), y);
}
