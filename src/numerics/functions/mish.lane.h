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
