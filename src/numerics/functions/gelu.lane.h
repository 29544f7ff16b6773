// SPDX-License-Identifier: MIT
/*! gelu
`x * Phi(x)`, correctly rounded; Phi is the distribution function of the standard normal law. gelu(±0) = ±0,
gelu(-inf) = -0, gelu(+inf) = +inf.
*/

// In double, t = |x|: -t Phi(-t) for x < 0, else x - t Phi(-t). t^2 is exact. From t = 15 on, the result is -0 or x.
// Half of a subnormal x may be a midpoint between floats, and gelu is above it: so is x times a tail just off 1/2.
struct GeluWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V t = Min(Abs(x), Set(d, 15.0));
    const V s = Max(t, Set(d, 0x1p-50));
    V tail = NormalTail(d, s, ExpOf(d, Mul(Mul(s, s), Set(d, -0.5))));
    tail = Patch(d, t, tail, 0x1.6148dep-16, 0x1.fffdcc3d41bf4p-2);
    return Fma(Neg(t), tail, IfThenZeroElse(Lt(x, Zero(d)), x));
  }
};

template <class V>
REPDL_LANE V Gelu(V x) {
  return ViaDouble(GeluWide(), x);
}

/*! gelu_derivative
`Phi(x) + x * phi(x)`, correctly rounded; phi is the density of the standard normal law. It is -0 at -inf, 1 at +inf.
*/

// gelu'(-t) = e^(-t^2 / 2) (zero - t) p(t) / q(t), where zero is its only one, and gelu'(t) = 1 - gelu'(-t).
struct GeluDerivativeWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V t = Abs(Limit(x, Set(d, -15.0), Set(d, 15.0)));
    V p = Set(d, 0x1.2016ecc64deb7p-16);
    p = Fma(p, t, Set(d, 0x1.ae0eab972ca9ap-12));
    p = Fma(p, t, Set(d, 0x1.2e56ea050a679p-8));
    p = Fma(p, t, Set(d, 0x1.03176133f8906p-5));
    p = Fma(p, t, Set(d, 0x1.266f07d81aae1p-3));
    p = Fma(p, t, Set(d, 0x1.c5539ca074421p-2));
    p = Fma(p, t, Set(d, 0x1.ce5092ec7ad56p-1));
    p = Fma(p, t, Set(d, 0x1.1f72b13ded09ap+0));
    p = Fma(p, t, Set(d, 0x1.54851a5cc1ec8p-1));
    V q = Set(d, 0x1.691113a486c01p-15);
    q = Fma(q, t, Set(d, 0x1.0504074c3a7fdp-10));
    q = Fma(q, t, Set(d, 0x1.6302ce3bd1831p-7));
    q = Fma(q, t, Set(d, 0x1.2531279c56e28p-4));
    q = Fma(q, t, Set(d, 0x1.3f0970ae8980ep-2));
    q = Fma(q, t, Set(d, 0x1.d196a1bdf1c8ap-1));
    q = Fma(q, t, Set(d, 0x1.badeca461392ep+0));
    q = Fma(q, t, Set(d, 0x1.f432eceaa482ep+0));
    q = Fma(q, t, Set(d, 0x1p+0));
    const V below = Add(Sub(Set(d, 0x1.80ead20000000p-1), t), Set(d, -0x1.a03fd3089f3a6p-27));  // zero - t
    V y = Mul(ExpOf(d, Mul(Mul(t, t), Set(d, -0.5))), Mul(below, Div(p, q)));
    y = Patch(d, t, y, 0x1.40d932p-25, 0x1.fffffdffffffcp-2);
    y = Patch(d, t, y, 0x1.40d932p-26, 0x1.fffffeffffffcp-2);
    y = Patch(d, t, y, 0x1.a1becap-14, 0x1.ffeb2affffff0p-2);
    return IfThenElse(Lt(x, Zero(d)), y, Sub(Set(d, 1.0), y));
  }
};

template <class V>
REPDL_LANE V GeluDerivative(V x) {
  return ViaDouble(GeluDerivativeWide(), x);
}

/*! gelu_grad
`grad_output * gelu_derivative(input)`, the derivative rounded before the product.
*/
template <class V>
REPDL_LANE V GeluGrad(V grad_output, V input) {
  return Mul(grad_output, GeluDerivative(input));
}
