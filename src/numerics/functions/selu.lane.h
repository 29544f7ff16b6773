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

/// `scale` for x > 0, else `scale alpha`.
template <class N, class D, class V>
REPDL_LANE N SeluSlope(D d, V x) {
  const N right = Constant<N>(d, 0x1.0cfabd6a91132p+0, 0x1.6fc7d272f2695p-55, 0x1.4e9ab43a155ffp-110);
  const N left = Constant<N>(d, 0x1.c212cc640f031p+0, 0x1.05161b045a1fep-56, -0x1.86ea9161b1aeep-110);
  return Choose(Gt(x, Zero(d)), right, left);
}

struct SeluFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    const V factor = Moderate(d, x, n), zero = Zero(d);
    const auto linear = Gt(x, Set(d, -0x1p-160));
    const N em1 = Expm1Number(d, Exactly<N>(d, Limit(x, Set(d, -50.0), zero)));
    n = IfThenElseZero(linear, n);
    return Times(SeluSlope<N>(d, x), Choose(linear, Exactly<N>(d, factor), em1));
  }
};

struct SeluDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Eq(x, Inf(d)), x, CopySign(Correctly<SeluFormula>(d, x), x));
  }
};

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

struct SeluDerivativeFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    return Times(SeluSlope<N>(d, x), ExpOver(d, Exactly<N>(d, Limit(x, Set(d, -800.0), Zero(d))), n));
  }
};

struct SeluDerivativeDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Correctly<SeluDerivativeFormula>(d, x);
  }
};

struct SeluGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V input) const {
    return Mul(grad_output, SeluDerivativeDouble()(d, input));
  }
};
