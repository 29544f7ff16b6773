// SPDX-License-Identifier: MIT
/*! selu
`scale * x` where `x > 0`, else `scale * alpha * (exp(x) - 1)`, with scale = 1.0507009873554804934193349852946 and alpha =
1.6732632423543772848170429916717, correctly rounded. selu(±0) = ±0, selu(-inf) = -scale alpha, selu(+inf) = +inf.
*/
struct SeluWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V zero = Zero(d);
    const auto negative = Lt(x, zero);
    const V elu = IfThenElse(negative, Expm1Of(d, Limit(x, Set(d, -50.0), zero)), x);
    return Mul(elu, IfThenElse(negative, Set(d, 0x1.c212cc640f031p+0), Set(d, 0x1.0cfabd6a91132p+0)));
  }
};

template <class V>
REPDL_LANE V Selu(V x) {
  return ViaDouble(SeluWide(), x);
}

struct SeluDerivativeWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V zero = Zero(d);
    const V slope = IfThenElse(Gt(x, zero), Set(d, 0x1.0cfabd6a91132p+0), Set(d, 0x1.c212cc640f031p+0));
    return Mul(slope, ExpOf(d, Limit(x, Set(d, -110.0), zero)));
  }
};

/// The derivative of selu, correctly rounded.
template <class V>
REPDL_LANE V SeluDerivative(V x) {
  return ViaDouble(SeluDerivativeWide(), x);
}

/*! selu_grad
`grad_input = grad_output * d`, where `d` is `scale` for `input > 0`, else `scale * alpha * exp(input)`, correctly
rounded. The operands are broadcast.
*/
template <class V>
REPDL_LANE V SeluGrad(V grad_output, V input) {
  return Mul(grad_output, SeluDerivative(input));
}
