// SPDX-License-Identifier: MIT
// One element of adam_step and adamw_step; the contract stands in adam.h.

template <class D, class T, class V>
REPDL_LANE void AdamElement(D d, const AdamConstants<T>& c, V g, V& param, V& exp_avg, V& exp_avg_sq,
                            V* max_exp_avg_sq) {
  if (c.maximize) g = Neg(g);
  if (c.shrink != 1) param = Mul(param, Set(d, c.shrink));
  if (c.weight_decay != 0) g = Fma(Set(d, c.weight_decay), param, g);
  exp_avg = Fma(Set(d, c.one_minus_beta1), g, Mul(exp_avg, Set(d, c.beta1)));
  exp_avg_sq = Add(Mul(exp_avg_sq, Set(d, c.beta2)), Mul(Mul(g, g), Set(d, c.one_minus_beta2)));
  V v = exp_avg_sq;
  if (max_exp_avg_sq != nullptr) {
    const auto grows = Or(Gt(v, *max_exp_avg_sq), IsNaN(v));
    *max_exp_avg_sq = IfThenElse(grows, v, *max_exp_avg_sq);
    v = *max_exp_avg_sq;
  }
  const V denom = Add(Div(Sqrt(v), Set(d, c.sqrt_correction2)), Set(d, c.eps));
  param = Add(param, Mul(Div(exp_avg, denom), Set(d, c.minus_step_size)));
}
