// SPDX-License-Identifier: MIT
/*! sigmoid
`1 / (1 + exp(-x))`, correctly rounded. sigmoid(-inf) = +0, sigmoid(+inf) = 1.
*/

// e^x / (1 + e^x); beyond the limits the result is +0 or 1 all the same. Near 0 the function is 1/2 + x/4 - x^3 / 48, and
// 1/2 + x/4 may lie midway between two floats: a 1 that is a little off moves it to the right side.
struct SigmoidWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = IfThenElse(Lt(x, Zero(d)), Set(d, 0x1.ffffffffffffdp-1), Set(d, 0x1.0000000000004p+0));
    const V e = QuickExpOf(d, Limit(x, Set(d, -110.0), Set(d, 110.0)));
    return Div(e, Add(e, one));
  }
};

template <class V>
REPDL_LANE V Sigmoid(V x) {
  return ViaDouble(SigmoidWide(), x);
}

/*! sigmoid_grad
`grad_input = grad_output * ((1 - output) * output)`, each of the three steps rounded to binary64 and the last one to
float32 after that. The operands are broadcast.
*/
struct SigmoidGradWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V output) const {
    return Mul(grad_output, Mul(Sub(Set(d, 1.0), output), output));
  }
};

template <class V>
REPDL_LANE V SigmoidGrad(V grad_output, V output) {
  return ViaDouble(SigmoidGradWide(), grad_output, output);
}
