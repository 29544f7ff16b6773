// SPDX-License-Identifier: MIT
/*! logsigmoid
`-log(1 + exp(-x))`, correctly rounded. logsigmoid(-inf) = -inf, logsigmoid(+inf) = -0.
*/
struct LogsigmoidWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Neg(Log1pExp(d, Neg(x)));
  }
};

template <class V>
REPDL_LANE V Logsigmoid(V x) {
  return ViaDouble(LogsigmoidWide(), x);
}

/*! logsigmoid_grad
`grad_input = grad_output * sigmoid(-input)`, sigmoid correctly rounded. The operands are broadcast.
*/
template <class V>
REPDL_LANE V LogsigmoidGrad(V grad_output, V input) {
  return Mul(grad_output, Sigmoid(Neg(input)));
}
