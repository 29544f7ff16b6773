// SPDX-License-Identifier: MIT
// The integer that stands for a weight, in lane words; the contract stands in philox.h.

template <class D, class V>
REPDL_LANE V IntegerOfWeight(D d, V weight, V largest, V scale) {
  const V zero = Zero(d), one = Set(d, 1.0);
  const V scaled = Mul(Div(weight, largest), scale), nearest = Round(scaled);
  const V below = IfThenElse(Gt(nearest, scaled), Sub(nearest, one), nearest);
  return IfThenElse(Gt(weight, zero), Max(below, one), zero);
}
