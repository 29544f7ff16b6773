// SPDX-License-Identifier: MIT
/*! gelu_tanh
`x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`, correctly rounded, its constants taken as real numbers.
gelu_tanh(±0) = ±0, gelu_tanh(-inf) = -0, gelu_tanh(+inf) = +inf.
*/

// In double, t = |x|: -t s for x < 0, else x - t s, s = sigmoid(-v), v = t (a + b t^2), a = 2 sqrt(2 / pi). t^2 is exact.
// From t = 11 on, the result is -0 or x.
// Half of a subnormal x may be a midpoint between floats, and gelu_tanh is above it: so is x times an s just off 1/2.

/// e^-v for 0 <= t <= 11.
template <class D, class V>
REPDL_LANE V GeluTanhExp(D d, V t) {
  return ExpOf(d, Mul(t, Fma(Mul(t, t), Set(d, -0x1.2444f2a4d8b4bp-4), Set(d, -0x1.9884533d43651p+0))));
}

struct GeluTanhWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V t = Min(Abs(x), Set(d, 11.0));
    const V e = GeluTanhExp(d, Max(t, Set(d, 0x1p-50)));
    return Fma(Neg(t), Div(e, Add(e, Set(d, 1.0))), IfThenZeroElse(Lt(x, Zero(d)), x));
  }
};

template <class V>
REPDL_LANE V GeluTanh(V x) {
  return ViaDouble(GeluTanhWide(), x);
}

/// 2 sqrt(2 / pi) (x + 0.044715 x^3).
template <class N, class D, class V>
REPDL_LANE N GeluTanhArgument(D d, V x) {
  const N linear = Constant<N>(d, 0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54, -0x1.c7402c7d60cfbp-110);
  const N cubic = Constant<N>(d, 0x1.2444f2a4d8b4bp-4, -0x1.6c843a29d1c70p-61, -0x1.e59a5ef3f43e4p-115);
  return Times(Plus(linear, Times(Times(cubic, x), x)), x);
}

// As silu.
struct GeluTanhFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    x = IfThenElse(Lt(x, Set(d, -24.0)), Set(d, -24.0), x);
    const V argument = CopySign(Limit(Abs(x), Set(d, 0x1p-100), Set(d, 24.0)), x);
    V exponent;
    const V factor = Moderate(d, x, exponent);
    const N y = Times(SigmoidOver(d, GeluTanhArgument<N>(d, argument), n), factor);
    n = Add(n, exponent);
    return y;
  }
};

struct GeluTanhDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Eq(x, Inf(d)), x, CopySign(Correctly<GeluTanhFormula>(d, x), x));
  }
};

/*! gelu_tanh_derivative
The derivative of gelu_tanh, correctly rounded. It is -0 at -inf, 1 at +inf.
*/

// f'(-t) = s (1 - t v' (1 - s)), and f'(t) = 1 - f'(-t). Near its one zero, a polynomial times zero - t.
struct GeluTanhDerivativeWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V t = Abs(Limit(x, Set(d, -11.0), Set(d, 11.0)));
    const V e = GeluTanhExp(d, t), one = Set(d, 1.0);
    const V other = Div(one, Add(e, one));  // sigmoid(v)
    const V slope = Mul(t, Fma(Mul(t, t), Set(d, 0x1.b6676bf7450f0p-3), Set(d, 0x1.9884533d43651p+0)));
    V y = Mul(Mul(e, other), Fma(Neg(slope), other, one));
    const V below = Add(Sub(Set(d, 0x1.8142a00000000p-1), t), Set(d, -0x1.85a06cd4f523fp-27));  // zero - t
    V p = Set(d, -0x1.e5ca573fc2e75p-11);
    p = Fma(p, below, Set(d, -0x1.3d3f9e7c51dcdp-9));
    p = Fma(p, below, Set(d, 0x1.58c9e7203eae1p-8));
    p = Fma(p, below, Set(d, 0x1.42798f922cec1p-6));
    p = Fma(p, below, Set(d, -0x1.104a83edf5564p-6));
    p = Fma(p, below, Set(d, -0x1.d2b77345c57bfp-4));
    p = Fma(p, below, Set(d, -0x1.029615edb04eap-6));
    p = Fma(p, below, Set(d, 0x1.8cd1a2b2fff0cp-2));
    p = Fma(p, below, Set(d, 0x1.b8bacd2c96b91p-2));
    y = IfThenElse(Lt(Abs(below), Set(d, 0.0625)), Mul(below, p), y);
    y = Patch(d, t, y, 0x1.40d932p-25, 0x1.fffffdffffffcp-2);
    y = Patch(d, t, y, 0x1.40d932p-26, 0x1.fffffeffffffcp-2);
    return IfThenElse(Lt(x, Zero(d)), y, Sub(one, y));
  }
};

template <class V>
REPDL_LANE V GeluTanhDerivative(V x) {
  return ViaDouble(GeluTanhDerivativeWide(), x);
}

/*! gelu_tanh_grad
`grad_output * gelu_tanh_derivative(input)`, the derivative rounded before the product.
*/
template <class V>
REPDL_LANE V GeluTanhGrad(V grad_output, V input) {
  return Mul(grad_output, GeluTanhDerivative(input));
}

struct GeluTanhDerivativeFormula {
  static constexpr bool kScaled = true, kSized = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    x = Limit(x, Set(d, -24.0), Set(d, 24.0));
    const N linear = Constant<N>(d, 0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54, -0x1.c7402c7d60cfbp-110);
    const N cubic = Constant<N>(d, 0x1.b6676bf7450f0p-3, 0x1.bba7351828aabp-57, -0x1.6c33c736f72ebp-113);
    const N slope = Times(Plus(linear, Times(Times(cubic, x), x)), x);
    return GateDerivativeOver(d, GeluTanhArgument<N>(d, x), slope, n);
  }
  template <class D, class V>
  static REPDL_LANE V Size(D d, V, V sum, V x) {
    x = Limit(Abs(x), Zero(d), Set(d, 24.0));
    return Add(Abs(sum), Fma(Mul(x, Set(d, 4.0)), Fma(x, x, Set(d, 2.0)), Set(d, 4.0)));
  }
};

struct GeluTanhDerivativeDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Correctly<GeluTanhDerivativeFormula>(d, x);
  }
};

struct GeluTanhGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V input) const {
    return Mul(grad_output, GeluTanhDerivativeDouble()(d, input));
  }
};
