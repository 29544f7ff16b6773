// SPDX-License-Identifier: MIT
// What cross does to two vectors, in lane words; the contract stands in cross.h.

template <class V>
REPDL_LANE void CrossOf(V a0, V a1, V a2, V b0, V b1, V b2, V& c0, V& c1, V& c2) {
  c0 = Sub(Mul(a1, b2), Mul(a2, b1));
  c1 = Sub(Mul(a2, b0), Mul(a0, b2));
  c2 = Sub(Mul(a0, b1), Mul(a1, b0));
}
