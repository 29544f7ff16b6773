// SPDX-License-Identifier: MIT
/*! silu
`x / (1 + exp(-x))`, correctly rounded. silu(±0) = ±0, silu(-inf) = -0, silu(+inf) = +inf.
*/

// Beyond the limits the result is -0 or x or +inf all the same. Near 0 the function is x/2 + x^2 / 4, and x/2 may lie
// midway between two subnormal floats: what is added moves it up, and is nothing to other results.
struct SiluWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V low = Set(d, -120.0);
    const V e = QuickExpOf(d, Neg(Limit(x, low, Set(d, 120.0))));
    const V y = Div(Limit(x, low, Set(d, 0x1p128)), Add(e, Set(d, 1.0)));
    return CopySign(Add(y, Set(d, 0x1p-178)), x);
  }
};

template <class V>
REPDL_LANE V Silu(V x) {
  return ViaDouble(SiluWide(), x);
}

// (1 + (1 + x) e) / (1 + e)^2 with e = e^-x; beyond the limits the result is -0 or 1 all the same. Near 0 the function is
// 1/2 + x/2 - x^3 / 12, and 1/2 + x/2 may lie midway between two floats: a 1 that is a little off moves it to the right
// side.
struct SiluDerivativeWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0);
    const V about_one = IfThenElse(Lt(x, Zero(d)), Set(d, 0x1.ffffffffffffep-1), Set(d, 0x1.0000000000002p+0));
    x = Limit(x, Set(d, -120.0), Set(d, 120.0));
    const V e = QuickExpOf(d, Neg(x));
    const V root = Add(e, about_one);
    const V y = Div(Fma(Add(x, one), e, one), Mul(root, root));
    return Patch(d, x, y, 0x1.184a0ep-9, 0x1.008c26p-1);
  }
};

/// The derivative of silu, correctly rounded.
template <class V>
REPDL_LANE V SiluDerivative(V x) {
  return ViaDouble(SiluDerivativeWide(), x);
}

/*! silu_grad
`grad_input = grad_output * d`, where `d` is the derivative of silu at `input`, correctly rounded: -0 at -inf, 1 at
+inf. The operands are broadcast.
*/
template <class V>
REPDL_LANE V SiluGrad(V grad_output, V input) {
  return Mul(grad_output, SiluDerivative(input));
}
