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

struct LogsigmoidFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    return Negated(Log1pExpOver<N>(d, Neg(x), n));
  }
};

struct LogsigmoidDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Eq(x, Neg(Inf(d))), x, Correctly<LogsigmoidFormula>(d, x));
  }
};

/*! logsigmoid_grad
`grad_input = grad_output * sigmoid(-input)`, sigmoid correctly rounded. The operands are broadcast.
*/
template <class V>
REPDL_LANE V LogsigmoidGrad(V grad_output, V input) {
  return Mul(grad_output, Sigmoid(Neg(input)));
}

struct LogsigmoidGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V input) const {
    return Mul(grad_output, SigmoidDouble()(d, Neg(input)));
  }
};
