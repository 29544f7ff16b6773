// SPDX-License-Identifier: MIT
// Part of highway-inl.h: a function of one number for the few lanes that need it.

/// f(x...) where the mask is set, one lane after the other; else `otherwise`.
template <class D, class M, class F, class V>
REPDL_LANE V IfThenEach(D d, M mask, F f, V otherwise, V x) {
  HWY_ALIGN double results[hn::MaxLanes(d)], operands[hn::MaxLanes(d)], chosen[hn::MaxLanes(d)];
  Store(otherwise, d, results);
  Store(x, d, operands);
  Store(IfThenElseZero(mask, Set(d, 1.0)), d, chosen);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (chosen[i] != 0.0) results[i] = f(operands[i]);
  }
  return Load(d, results);
}

template <class D, class M, class F, class V>
REPDL_LANE V IfThenEach(D d, M mask, F f, V otherwise, V x, V y) {
  HWY_ALIGN double results[hn::MaxLanes(d)], operands[hn::MaxLanes(d)], others[hn::MaxLanes(d)],
      chosen[hn::MaxLanes(d)];
  Store(otherwise, d, results);
  Store(x, d, operands);
  Store(y, d, others);
  Store(IfThenElseZero(mask, Set(d, 1.0)), d, chosen);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (chosen[i] != 0.0) results[i] = f(operands[i], others[i]);
  }
  return Load(d, results);
}
