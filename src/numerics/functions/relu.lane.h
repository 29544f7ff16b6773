// SPDX-License-Identifier: MIT
/*! relu
`output = +0` where `input < 0`, else `input`: -0 and NaN stay.
*/
struct ReluWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenZeroElse(Lt(x, Zero(d)), x);
  }
};

template <class V>
REPDL_LANE V Relu(V x) {
  return IfThenZeroElse(Lt(x, Zero(TagFor(x))), x);
}

/*! relu_grad
`grad_input = +0` where `output <= 0`, else `grad_output`. The operands are broadcast.
*/
template <class V>
REPDL_LANE V ReluGrad(V grad_output, V output) {
  return IfThenZeroElse(Le(output, Zero(TagFor(output))), grad_output);
}
