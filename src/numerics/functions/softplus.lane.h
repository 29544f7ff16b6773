// SPDX-License-Identifier: MIT
/*! softplus
`log(1 + exp(x))`, correctly rounded, for x <= 20; x for x > 20. softplus(-inf) = +0, softplus(+inf) = +inf.
*/
struct SoftplusWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Gt(x, Set(d, 20.0)), x, Log1pExp(d, x));
  }
};

template <class V>
REPDL_LANE V Softplus(V x) {
  return ViaDouble(SoftplusWide(), x);
}

struct SoftplusFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    return Log1pExpOver<N>(d, x, n);
  }
};

struct SoftplusDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Gt(x, Set(d, 20.0)), x, Correctly<SoftplusFormula>(d, x));
  }
};

/*! softplus_grad
`grad_input = grad_output * sigmoid(input)`, sigmoid correctly rounded, for input <= 20; grad_output for input > 20.
The operands are broadcast.
*/
template <class V>
REPDL_LANE V SoftplusGrad(V grad_output, V input) {
  const auto d = TagFor(input);
  return IfThenElse(Gt(input, Set(d, 20.0f)), grad_output, Mul(grad_output, Sigmoid(input)));
}

struct SoftplusGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V input) const {
    return IfThenElse(Gt(input, Set(d, 20.0)), grad_output, Mul(grad_output, SigmoidDouble()(d, input)));
  }
};
