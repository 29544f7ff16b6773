// SPDX-License-Identifier: MIT
/*! softsign
`x / (1 + |x|)`, correctly rounded. softsign(±0) = ±0, softsign(±inf) = ±1.
*/
struct SoftsignWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V limited = Limit(x, Set(d, -0x1p60), Set(d, 0x1p60));  // beyond, ±1: no inf / inf
    const V y = Div(limited, Add(Set(d, 1.0), Abs(limited)));
    return PatchOdd(d, x, y, 0x1.17022cp-7, 0x1.14a722p-7);
  }
};

template <class V>
REPDL_LANE V Softsign(V x) {
  return ViaDouble(SoftsignWide(), x);
}

struct SoftsignFormula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-98;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    const V limited = Limit(x, Set(d, -0x1p60), Set(d, 0x1p60));
    return Over(Exactly<N>(d, limited), Plus(Exactly<N>(d, Set(d, 1.0)), Exactly<N>(d, Abs(limited))));
  }
};

struct SoftsignDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Lt(Abs(x), Set(d, 0x1p-55)), x, Correctly<SoftsignFormula>(d, x));
  }
};

/*! softsign_grad
`grad_output * d`, rounded once, with `d = 1 / (1 + |input|)^2`, correctly rounded. The operands are broadcast.
*/
struct SoftsignDerivativeWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = Set(d, 1.0);
    const V a = Abs(x);
    const V u = Add(one, a);
    V y = Div(one, Mul(u, u));
    y = Patch(d, a, y, 0x1.6325c6p-15, 0x1.fff4e6p-1);
    return Patch(d, a, y, 0x1.2d5dc4p-9, 0x1.fda756p-1);
  }
};

template <class V>
REPDL_LANE V SoftsignDerivative(V x) {
  return ViaDouble(SoftsignDerivativeWide(), x);
}

template <class V>
REPDL_LANE V SoftsignGrad(V grad_output, V input) {
  return Mul(grad_output, SoftsignDerivative(input));
}

struct SoftsignDerivativeFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-98;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    const V a = Limit(Abs(x), Zero(d), Set(d, 0x1p600)), one = Set(d, 1.0);
    const auto large = Gt(a, Set(d, 0x1p200));
    const V scale = IfThenElse(large, Set(d, 0x1p-400), one);
    n = IfThenElseZero(large, Set(d, -800.0));
    const N u = Plus(Exactly<N>(d, scale), Exactly<N>(d, Mul(a, scale)));
    return Over(Exactly<N>(d, one), Times(u, u));
  }
};

struct SoftsignDerivativeDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Correctly<SoftsignDerivativeFormula>(d, x);
  }
};

struct SoftsignGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V input) const {
    return Mul(grad_output, SoftsignDerivativeDouble()(d, input));
  }
};
