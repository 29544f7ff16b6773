// SPDX-License-Identifier: MIT
// What the ops do to an element, in lane words; the contracts stand in glu.h.

struct GluText {
  template <class D, class V>
  REPDL_ROW V operator()(D, V value, V gate) const {
    return Mul(value, SigmoidOfEach(gate));
  }
};

/// The gradients by a value and its gate.
template <class D, class V>
REPDL_ROW void GluGradOf(D d, V g, V value, V gate, V& by_value, V& by_gate) {
  const V open = SigmoidOfEach(gate);
  by_value = Mul(open, g);
  by_gate = Mul(Mul(Mul(Sub(Set(d, 1), open), open), g), value);
}
