// SPDX-License-Identifier: MIT
// The steps of batch_norm and its gradients, in lane words; the contracts stand in batch_norm.h.

template <class V>
REPDL_ROW V SquaredFromMean(V x, V mean) {
  const auto centred = Sub(x, mean);
  return Mul(centred, centred);
}

template <class V>
REPDL_ROW V Standardized(V x, V mean, V std) {
  return Div(Sub(x, mean), std);
}

/// Weight and bias do not matter where there are none.
template <class V>
REPDL_ROW V Affine(V y, bool has_weight, V weight, bool has_bias, V bias) {
  if (has_weight) y = Mul(y, weight);
  if (has_bias) y = Add(y, bias);
  return y;
}

/// A running statistic, of which a part is kept, that takes in a part of a new value.
template <class V>
REPDL_ROW V Updated(V running, V value, V keep, V take, V factor) {
  return Add(Mul(running, keep), Mul(take, Mul(value, factor)));
}

/// The gradient of a number whose standardized value is h.
template <class V>
REPDL_ROW V GradOfNumber(V g, V h, V scale, V bias_share, V weight_share) {
  return Mul(scale, Sub(Sub(g, bias_share), Mul(h, weight_share)));
}
