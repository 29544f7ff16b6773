// SPDX-License-Identifier: MIT
// What the ops do to an element, in lane words; the contracts stand in axpy.h. `c` is the scalar.

template <class V>
REPDL_ROW V AddMultiple(V x, V y, V c) {
  return Add(x, Mul(y, c));
}

template <class V>
REPDL_ROW V SubMultiple(V x, V y, V c) {
  return Sub(x, Mul(y, c));
}

template <class V>
REPDL_ROW V AddProduct(V x, V y, V z, V c) {
  return Add(x, Mul(Mul(y, c), z));
}

template <class V>
REPDL_ROW V AddQuotient(V x, V y, V z, V c) {
  return Add(x, Div(Mul(y, c), z));
}

/// From x by weight w, for |w| < 0.5.
template <class V>
REPDL_ROW V LerpFromStart(V x, V y, V w) {
  return Add(x, Mul(Sub(y, x), w));
}

/// From y by what the weight leaves of 1, for others.
template <class V>
REPDL_ROW V LerpFromEnd(V x, V y, V rest) {
  return Sub(y, Mul(Sub(y, x), rest));
}

template <class D, class V>
REPDL_ROW V LerpBy(D d, V x, V y, V w) {
  return IfThenElse(Lt(Abs(w), Set(d, 0.5f)), LerpFromStart(x, y, w), LerpFromEnd(x, y, Sub(Set(d, 1), w)));
}
