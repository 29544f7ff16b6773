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

struct SiluOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return ViaDouble(SiluWide(), x);
  }
};

// In floats: the product is off by as much of it as sigmoid, and by 2^-37 for the rounding of its low part.
template <class V>
REPDL_LANE V Silu(V x) {
  const auto d = TagFor(x);
  V sigmoid_low;
  const V sigmoid = QuickSigmoidOfFloat(d, x, sigmoid_low), a = Abs(x);
  const V high = Mul(x, sigmoid);
  const V low = Fma(x, sigmoid_low, Fma(x, sigmoid, Neg(high)));
  auto certain = And(Le(a, Set(d, 75.0f)), Ge(a, Set(d, 0x1p-100f)));
  const V least = Fma(high, Set(d, -0x1.cp-33f), low), most = Fma(high, Set(d, 0x1.2p-36f), low);
  const V y = RoundedBetween(high, least, most, certain);
  return IfCertain<SiluOfAnyFloat>(d, certain, y, x);
}

// x sigmoid(x). Half of a subnormal x may lie midway between two doubles: so sigmoid is not quite 1/2.
struct SiluFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    x = IfThenElse(Lt(x, Set(d, -800.0)), Set(d, -800.0), x);
    const V argument = CopySign(Limit(Abs(x), Set(d, 0x1p-100), Set(d, 800.0)), x);
    V exponent;
    const V factor = Moderate(d, x, exponent);
    const N sigmoid = SigmoidOver(d, Exactly<N>(d, argument), n);
    const N y = Times(NearHalf(d, argument, 0.25, 0x1.5555555555555p-6, sigmoid), factor);
    n = Add(n, exponent);
    return y;
  }
};

struct SiluOfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Eq(x, Inf(d)), x, CopySign(Correctly<SiluFormula>(d, x), x));
  }
};

// Below the limit, a part of the product may be subnormal.
struct SiluDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V sigmoid_low, error;
    const V sigmoid = QuickSigmoid(d, x, sigmoid_low), a = Abs(x);
    const V high = TwoProd(a, sigmoid, error);
    auto certain = And(Or(Ge(a, Set(d, 0x1p-900)), Eq(a, Zero(d))), Le(a, Set(d, 600.0)));
    const V y = RoundedWithin(high, Fma(a, sigmoid_low, error), Mul(high, Set(d, 0x1p-68)), certain);
    return IfCertain<SiluOfAnyDouble>(d, certain, CopySign(y, x), x);
  }
};

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

/// s (1 + slope (1 - s)) / 2^n with s = sigmoid(v), slope of the sign of v: the derivative of x sigmoid(v) with slope = x v'.
template <class D, class N, class V>
REPDL_LANE N GateDerivativeOver(D d, N v, N slope, V& n) {
  const auto negative = Lt(V(v.high), Zero(d));
  const N e = ExpOver(d, Choose(negative, v, Negated(v)), n);
  const N small = Scaled(e, PowerOfTwo(d, Limit(n, Set(d, -300.0), Zero(d))));
  const N sum = Plus(Exactly<N>(d, Set(d, 1.0)), small);
  n = IfThenElseZero(negative, n);
  // e (sum + slope) / sum^2, or (sum + e slope) / sum^2
  const N numerator = Choose(negative, Times(e, Plus(sum, slope)), Plus(sum, Times(small, slope)));
  return Over(numerator, Times(sum, sum));
}

// It is 0 near -1.28, where the sum cancels.
struct SiluDerivativeFormula {
  static constexpr bool kScaled = true, kSized = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    const N v = Exactly<N>(d, Limit(x, Set(d, -800.0), Set(d, 800.0)));
    return NearHalf(d, x, 0.5, 0x1.5555555555555p-4, GateDerivativeOver(d, v, v, n));
  }
  template <class D, class V>
  static REPDL_LANE V Size(D d, V, V sum, V x) {
    return Add(Abs(sum), Fma(Limit(Abs(x), Zero(d), Set(d, 800.0)), Set(d, 4.0), Set(d, 4.0)));
  }
};

struct SiluDerivativeDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Correctly<SiluDerivativeFormula>(d, x);
  }
};

struct SiluGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V input) const {
    return Mul(grad_output, SiluDerivativeDouble()(d, input));
  }
};
