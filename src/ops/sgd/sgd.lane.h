// SPDX-License-Identifier: MIT
// One element of sgd_step; the contract stands in sgd.h.

template <class D, class T, class V>
REPDL_LANE void SgdElement(D d, const SgdConstants<T>& c, V g, V& param, V* buffer) {
  if (c.maximize) g = Neg(g);
  if (c.weight_decay != 0) g = Fma(Set(d, c.weight_decay), param, g);
  if (buffer != nullptr) {
    *buffer = c.first_step ? g : Fma(Set(d, c.one_minus_dampening), g, Mul(*buffer, Set(d, c.momentum)));
    g = c.nesterov ? Fma(Set(d, c.momentum), *buffer, g) : *buffer;
  }
  param = Fma(Set(d, c.minus_lr), g, param);
}
