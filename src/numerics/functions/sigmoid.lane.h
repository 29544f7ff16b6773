// SPDX-License-Identifier: MIT
/*! sigmoid
`1 / (1 + exp(-x))`, correctly rounded. sigmoid(-inf) = +0, sigmoid(+inf) = 1.
*/

// e^x / (1 + e^x); beyond the limits the result is +0 or 1 all the same. Near 0 the function is 1/2 + x/4 - x^3 / 48, and
// 1/2 + x/4 may lie midway between two floats: a 1 that is a little off moves it to the right side.
struct SigmoidWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V one = IfThenElse(Lt(x, Zero(d)), Set(d, 0x1.ffffffffffffdp-1), Set(d, 0x1.0000000000004p+0));
    const V e = QuickExpOf(d, Limit(x, Set(d, -110.0), Set(d, 110.0)));
    return Div(e, Add(e, one));
  }
};

struct SigmoidOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return ViaDouble(SigmoidWide(), x);
  }
};

/// 1 / (1 + e^-x) for |x| <= 75, in floats: the sum of the result y and low is too large by up to 0x1.9p-33 of it.
//
// With t = 1 - y (1 + e^-x), it is y / (1 - t) = y (1 + t + t^2 + ...). |t| < 2^-11.9, as e^-x has a low part of that
// size, so of each sum with it 2^-36.9 of y may be lost, and 2^-35.7 as t^3. e^-x may be too small by 2^-32.5 of it.
// All floats have been tried.
template <class D, class V>
REPDL_LANE V QuickSigmoidOfFloat(D d, V x, V& low) {
  const V one = Set(d, 1.0f);
  V e_low, error;
  auto exponent = Zero(IntTag<D>());
  const V e = QuickExpOfFloat<true>(d, Neg(x), e_low, exponent);
  const V sum = FastTwoSum(Max(e, one), Min(e, one), error);
  const V y = Div(one, sum), minus_y = Neg(y);
  const V t = Fma(minus_y, Add(error, e_low), Fma(minus_y, sum, one));
  low = Mul(y, Fma(t, t, t));
  return y;
}

template <class V>
REPDL_LANE V Sigmoid(V x) {
  const auto d = TagFor(x);
  V low;
  const V high = QuickSigmoidOfFloat(d, x, low);
  auto certain = Le(Abs(x), Set(d, 75.0f));
  // With 2^-37 for the rounding of these.
  const V least = Fma(high, Set(d, -0x1.bp-33f), low), most = Fma(high, Set(d, 0x1.2p-37f), low);
  const V y = RoundedBetween(high, least, most, certain);
  return IfCertain<SigmoidOfAnyFloat>(d, certain, y, x);
}

/// 1 / (1 + e^-x) / 2^n for |x| <= 1100.
template <class D, class N, class V>
REPDL_LANE N SigmoidOver(D d, N x, V& n) {
  const auto negative = Lt(V(x.high), Zero(d));
  const N e = ExpOver(d, Choose(negative, x, Negated(x)), n);
  const N one = Exactly<N>(d, Set(d, 1.0));
  const N sum = Plus(one, Scaled(e, PowerOfTwo(d, Limit(n, Set(d, -300.0), Zero(d)))));
  n = IfThenElseZero(negative, n);
  return Over(Choose(negative, e, one), sum);
}

/// y with the digits that three doubles of Taylor's series 1/2 + slope x - cubic x^3 have: x near 0 may put 1/2 + slope x
/// midway between two doubles, and the next term is too small for sums of other triples.
template <class D, class V>
REPDL_LANE Triple<V> NearHalf(D d, V x, double slope, double cubic, Triple<V> y) {
  const V cube = Mul(Mul(x, x), Mul(x, Set(d, -cubic)));
  const auto near = And(Lt(Abs(x), Set(d, 0x1p-45)), Gt(Abs(x), Set(d, 0x1p-100)));
  return Choose(near, Triple<V>{Set(d, 0.5), Mul(x, Set(d, slope)), cube}, y);
}
template <class D, class V>
REPDL_LANE Pair<V> NearHalf(D, V, double, double, Pair<V> y) {
  return y;
}

struct SigmoidFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    const N y = SigmoidOver(d, Exactly<N>(d, Limit(x, Set(d, -800.0), Set(d, 800.0))), n);
    return NearHalf(d, x, 0.25, 0x1.5555555555555p-6, y);
  }
};

struct SigmoidOfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Correctly<SigmoidFormula>(d, x);
  }
};

/// 1 / (1 + e^-x) for |x| <= 600, with a relative error below 2^-68.9: that of e^-x, as 2^-100 is enough for the rest.
template <class D, class V>
REPDL_LANE V QuickSigmoid(D d, V x, V& low) {
  const Pair<V> e = QuickExp(d, Neg(x));
  const V one = Set(d, 1.0);
  V error;
  const V sum = FastTwoSum(Max(V(e.high), one), Min(V(e.high), one), error);
  const V y = Div(one, sum), minus_y = Neg(y);
  low = Mul(y, Fma(minus_y, Add(error, V(e.low)), Fma(minus_y, sum, one)));
  return y;
}

struct SigmoidDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low;
    const V high = QuickSigmoid(d, x, low);
    auto certain = Le(Abs(x), Set(d, 600.0));
    const V y = RoundedWithin(high, low, Mul(high, Set(d, 0x1p-68)), certain);
    return IfCertain<SigmoidOfAnyDouble>(d, certain, y, x);
  }
};

/*! sigmoid_grad
`grad_input = grad_output * ((1 - output) * output)`, each of the three steps rounded to binary64 and the last one to
float32 after that. The operands are broadcast.
*/
struct SigmoidGradWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V output) const {
    return Mul(grad_output, Mul(Sub(Set(d, 1.0), output), output));
  }
};

template <class V>
REPDL_LANE V SigmoidGrad(V grad_output, V output) {
  return ViaDouble(SigmoidGradWide(), grad_output, output);
}

/// For doubles the same three steps.
struct SigmoidGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V output) const {
    return Mul(grad_output, Mul(Sub(Set(d, 1.0), output), output));
  }
};
