// SPDX-License-Identifier: MIT
/*! mish
`x tanh(log(1 + e^x))`, correctly rounded. mish(±0) = ±0, mish(-inf) = -0, mish(+inf) = +inf.
*/

// tanh(log(1 + w)) = n / (n + 2) with w = e^x, n = w (w + 2). Below -120 the result is -0, and above 40 x, all the same.
struct MishWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V low = Set(d, -120.0), two = Set(d, 2.0);
    const V w = ExpOf(d, Limit(x, low, Set(d, 40.0)));
    const V n = Mul(w, Add(w, two));
    return Div(Mul(IfThenElse(Lt(x, low), low, x), n), Add(n, two));
  }
};

template <class V>
REPDL_LANE V Mish(V x) {
  return ViaDouble(MishWide(), x);
}

// x m / (m + 2) with w = e^x, m = w (w + 2), divided by 2^n.
struct MishFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    x = IfThenElse(Lt(x, Set(d, -800.0)), Set(d, -800.0), x);
    V exponent;
    const V factor = Moderate(d, x, exponent);
    const N two = Exactly<N>(d, Set(d, 2.0)), w = ExpOver(d, Exactly<N>(d, Limit(x, Set(d, -800.0), Set(d, 45.0))), n);
    const V scale = PowerOfTwo(d, Max(n, Set(d, -300.0)));
    const N m = Times(w, Plus(Scaled(w, scale), two));
    n = Add(n, exponent);
    return Times(Over(m, Plus(Scaled(m, scale), two)), factor);
  }
};

struct MishDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Eq(x, Inf(d)), x, CopySign(Correctly<MishFormula>(d, x), x));
  }
};

/*! mish_grad
`grad_output * d`, rounded once, with `d` the derivative of mish at `input`, correctly rounded; it is -0 at -inf and 1 at
+inf. The operands are broadcast.
*/

// d = w ((w + 2) (n + 2) + 4 x (w + 1)) / (n + 2)^2. It is 0 near -1.19, where the sum cancels; of the inputs there, only
// the nearest needs more than a double.
struct MishDerivativeWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V two = Set(d, 2.0), four = Set(d, 4.0);
    x = Limit(x, Set(d, -120.0), Set(d, 40.0));
    const V w = ExpOf(d, x);
    const V n2 = Fma(w, Add(w, two), two);
    const V sum = Fma(Mul(four, x), Add(w, Set(d, 1.0)), Mul(Add(w, two), n2));
    const V y = Patch(d, x, Div(Mul(w, sum), Mul(n2, n2)), -0x1.31432cp+0, 0x1.beb774p-31);
    return Patch(d, x, y, -0x1.4p-27, 0x1.333332p-1);
  }
};

template <class V>
REPDL_LANE V MishDerivative(V x) {
  return ViaDouble(MishDerivativeWide(), x);
}

template <class V>
REPDL_LANE V MishGrad(V grad_output, V input) {
  return Mul(grad_output, MishDerivative(input));
}

// w ((w + 2) (m + 2) + 4 x (w + 1)) / (m + 2)^2, divided by 2^n.
struct MishDerivativeFormula {
  static constexpr bool kScaled = true, kSized = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    x = Limit(x, Set(d, -800.0), Set(d, 45.0));
    const N one = Exactly<N>(d, Set(d, 1.0)), two = Exactly<N>(d, Set(d, 2.0)), w = ExpOver(d, Exactly<N>(d, x), n);
    const N small = Scaled(w, PowerOfTwo(d, Max(n, Set(d, -300.0)))), w2 = Plus(small, two);
    const N m2 = Plus(Times(small, w2), two);
    const N sum = Plus(Times(w2, m2), Times(Plus(small, one), Mul(x, Set(d, 4.0))));
    return Over(Times(w, sum), Times(m2, m2));
  }
  template <class D, class V>
  static REPDL_LANE V Size(D d, V, V sum, V x) {
    return Add(Abs(sum), Fma(Limit(Neg(x), Zero(d), Set(d, 800.0)), Set(d, 4.0), Set(d, 4.0)));
  }
};

struct MishDerivativeDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Correctly<MishDerivativeFormula>(d, x);
  }
};

struct MishGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V input) const {
    return Mul(grad_output, MishDerivativeDouble()(d, input));
  }
};
