// SPDX-License-Identifier: MIT
/*! elu
`x` where `x > 0`, else `exp(x) - 1`, correctly rounded. elu(±0) = ±0, elu(-inf) = -1. With the alpha of 1 that is meant
here, celu is the same function.
*/
struct EluWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V zero = Zero(d);
    return IfThenElse(Lt(x, zero), Expm1Of(d, Limit(x, Set(d, -50.0), zero)), x);
  }
};

template <class V>
REPDL_LANE V Elu(V x) {
  return ViaDouble(EluWide(), x);
}

// For x < 0.
struct EluFormula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    return Expm1Number(d, Exactly<N>(d, Limit(x, Set(d, -50.0), Zero(d))));
  }
};

struct EluDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Lt(x, Set(d, -0x1p-54)), Correctly<EluFormula>(d, x), x);
  }
};

struct EluDerivativeWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ExpOf(d, Limit(x, Set(d, -110.0), Zero(d)));
  }
};

/// The derivative of elu, correctly rounded.
template <class V>
REPDL_LANE V EluDerivative(V x) {
  return ViaDouble(EluDerivativeWide(), x);
}

/*! elu_grad
`grad_input = grad_output * d`, where `d` is 1 for `input > 0`, else `exp(input)`, correctly rounded. The operands are
broadcast.
*/
template <class V>
REPDL_LANE V EluGrad(V grad_output, V input) {
  return Mul(grad_output, EluDerivative(input));
}

struct EluDerivativeFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    return ExpOver(d, Exactly<N>(d, Limit(x, Set(d, -800.0), Zero(d))), n);
  }
};

struct EluDerivativeDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Correctly<EluDerivativeFormula>(d, x);
  }
};

struct EluGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V input) const {
    return Mul(grad_output, EluDerivativeDouble()(d, input));
  }
};
