// SPDX-License-Identifier: MIT
// One element of the fused steps; the contract stands in fused_optimizer.h. `round` rounds to the dtype of the tensors.

template <class D, class T, class R, class V>
REPDL_LANE V FusedGradientElement(D d, const FusedGradient<T>& c, const R& round, V g, V param) {
  if (c.maximize) g = Neg(g);
  if (c.weight_decay != 0) g = round(Add(g, Mul(param, Set(d, c.weight_decay))));
  return g;
}

/// param + (x * factor) / denom
template <class D, class T, class R, class V>
REPDL_LANE V FusedMove(D d, const R& round, V param, V x, T factor, V denom) {
  return round(Add(param, Div(Mul(x, Set(d, factor)), denom)));
}

template <class D, class T, class R, class V>
REPDL_LANE void FusedAdamElement(D d, const FusedAdamNumbers<T>& c, const R& round, V g, V& param, V& exp_avg,
                                 V& exp_avg_sq, V* max_exp_avg_sq) {
  g = FusedGradientElement(d, c.gradient, round, g, param);
  if (c.shrinks) param = round(Mul(param, Set(d, c.shrink)));
  const V away = Sub(g, exp_avg);
  if (c.weight > T(-0.5) && c.weight < T(0.5)) {
    exp_avg = round(Add(exp_avg, Mul(away, Set(d, c.weight))));
  } else {
    exp_avg = round(Sub(g, Mul(away, Set(d, c.rest))));
  }
  exp_avg_sq = round(Mul(exp_avg_sq, Set(d, c.beta2)));
  exp_avg_sq = round(Add(exp_avg_sq, Mul(Mul(g, Set(d, c.one_minus_beta2)), g)));
  V v = exp_avg_sq;
  if (max_exp_avg_sq != nullptr) v = *max_exp_avg_sq = Maximum(*max_exp_avg_sq, v);
  const V root = round(Div(round(Sqrt(v)), Set(d, c.sqrt_correction2)));
  param = FusedMove(d, round, param, exp_avg, c.minus_step_size, round(Add(root, Set(d, c.eps))));
}

template <class D, class T, class R, class V>
REPDL_LANE void FusedAdagradElement(D d, const FusedAdagradNumbers<T>& c, const R& round, V g, V& param, V& state_sum) {
  g = FusedGradientElement(d, c.gradient, round, g, param);
  state_sum = round(Add(state_sum, Mul(g, g)));
  param = FusedMove(d, round, param, g, c.minus_rate, round(Add(round(Sqrt(state_sum)), Set(d, c.eps))));
}

template <class D, class T, class R, class V>
REPDL_LANE void FusedSgdElement(D d, const FusedSgdNumbers<T>& c, const R& round, V g, V& param, V* buffer) {
  g = FusedGradientElement(d, c.gradient, round, g, param);
  if (buffer != nullptr) {
    if (c.first_step) {
      *buffer = g;
    } else {
      *buffer = round(Mul(*buffer, Set(d, c.momentum)));
      *buffer = round(Add(*buffer, Mul(g, Set(d, c.one_minus_dampening))));
    }
    g = c.nesterov ? round(Add(g, Mul(*buffer, Set(d, c.momentum)))) : *buffer;
  }
  param = round(Add(param, Mul(g, Set(d, c.minus_lr))));
}
