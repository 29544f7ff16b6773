// SPDX-License-Identifier: MIT
// The steps of weight_norm and its gradient, in lane words; the contracts stand in weight_norm.h.

/// What the gradient of a row has of its numbers.
template <class V>
REPDL_ROW V ShareOfNorm(V sum, V norm) {
  return Div(sum, Mul(norm, norm));
}

template <class V>
REPDL_ROW V GradOfWeight(V u, V x, V factor, V share) {
  return Mul(factor, Sub(u, Mul(x, share)));
}
