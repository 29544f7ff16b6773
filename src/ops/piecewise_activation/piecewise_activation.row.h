// SPDX-License-Identifier: MIT
// What each activation does to an element, in lane words; the contracts stand in piecewise_activation.h.

template <class T>
struct SoftshrinkText {
  T lambda;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V x) const {
    const V bound = Set(d, lambda);
    const V moved = IfThenElse(Gt(x, Zero(d)), Sub(x, bound), Add(x, bound));
    return IfThenZeroElse(Le(Abs(x), bound), moved);
  }
};

template <class T>
struct ShrinkGradText {
  T lambda;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x) const {
    const V bound = Set(d, lambda);
    return IfThenZeroElse(And(Ge(x, Neg(bound)), Le(x, bound)), g);
  }
};

template <class T>
struct HardtanhGradText {
  T low, high;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x) const {
    return IfThenZeroElse(Or(Le(x, Set(d, low)), Ge(x, Set(d, high))), g);
  }
};

/// x + 3 within 0 and 6.
template <class T, class D, class V>
REPDL_ROW V HeldText(D d, V x, T three, T six) {
  return ClampMax(ClampMin(Add(x, Set(d, three)), Zero(d)), Set(d, six));
}

template <class T>
struct HardsigmoidText {
  T three, six;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V x) const {
    return Div(HeldText(d, x, three, six), Set(d, six));
  }
};

template <class T>
struct HardsigmoidGradText {
  T three, sixth;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x) const {
    const V bound = Set(d, three);
    return IfThenElseZero(And(Gt(x, Neg(bound)), Lt(x, bound)), Mul(g, Set(d, sixth)));
  }
};

template <class T>
struct HardswishText {
  T three, six;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V x) const {
    return Div(Mul(x, HeldText(d, x, three, six)), Set(d, six));
  }
};

template <class T>
struct HardswishGradText {
  T three, half;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x) const {
    const V bound = Set(d, three);
    const V slope = Mul(g, Add(Div(x, bound), Set(d, half)));
    return IfThenZeroElse(Le(x, Neg(bound)), IfThenElse(Lt(x, bound), slope, g));
  }
};

template <class T>
struct ScaledEluText {
  T negative, positive, inner;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V x) const {
    const auto above = Gt(x, Zero(d));
    const V below = Mul(Expm1OfEach(IfThenZeroElse(above, Mul(x, Set(d, inner)))), Set(d, negative));
    return IfThenElse(above, Mul(x, Set(d, positive)), below);
  }
};

template <class T>
struct ScaledEluGradText {
  T positive, inner, slope_below;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x) const {
    const auto below = Le(x, Zero(d));
    const V slope = Mul(Mul(g, Set(d, slope_below)), ExpOfEach(IfThenElseZero(below, Mul(x, Set(d, inner)))));
    return IfThenElse(below, slope, Mul(g, Set(d, positive)));
  }
};

template <class T>
struct ScaledEluGradOfResultText {
  T negative, positive, inner;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V y) const {
    const V below = Mul(Mul(g, Set(d, inner)), Add(y, Set(d, negative)));
    return IfThenElse(Le(y, Zero(d)), below, Mul(g, Set(d, positive)));
  }
};

template <class T>
struct LogitGradText {
  T one;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x) const {
    const V end = Set(d, one);
    return IfThenElse(Or(Lt(x, Zero(d)), Gt(x, end)), Sub(Inf(d), Inf(d)), Div(g, Abs(Mul(x, Sub(end, x)))));
  }
};

template <class T>
struct LogitGradWithinText {
  T low, high, one;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x) const {
    const V slope = Div(g, Mul(x, Sub(Set(d, one), x)));
    return IfThenZeroElse(Or(Lt(x, Set(d, low)), Gt(x, Set(d, high))), slope);
  }
};

template <class T>
struct ScaledSoftplusText {
  T beta, threshold;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V x) const {
    const V scaled = Mul(x, Set(d, beta));
    const V soft = Neg(LogsigmoidOfEach(Neg(scaled)));  // unlike softplus, for any threshold
    return IfThenElse(Gt(scaled, Set(d, threshold)), x, Div(soft, Set(d, beta)));
  }
};

template <class T>
struct ScaledSoftplusGradText {
  T beta, threshold;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x) const {
    const V scaled = Mul(x, Set(d, beta));
    return IfThenElse(Gt(scaled, Set(d, threshold)), g, Mul(g, SigmoidOfEach(scaled)));
  }
};

/// run.operator()<number of operands>(text) with the text of the call.
template <class T, class Run>
void WithPiecewiseActivation(const PiecewiseActivationArgs& args, const Run& run) {
  const auto number = [&](int i) { return static_cast<T>(args.numbers[i]); };
  const T a = number(0), b = number(1), c = number(2), e = number(3);
  switch (args.op) {
    case PiecewiseActivation::kSoftshrink: return run.template operator()<1>(SoftshrinkText<T>{a});
    case PiecewiseActivation::kShrinkGrad: return run.template operator()<2>(ShrinkGradText<T>{a});
    case PiecewiseActivation::kHardtanhGrad: return run.template operator()<2>(HardtanhGradText<T>{a, b});
    case PiecewiseActivation::kHardsigmoid: return run.template operator()<1>(HardsigmoidText<T>{3, 6});
    case PiecewiseActivation::kHardsigmoidGrad:
      return run.template operator()<2>(HardsigmoidGradText<T>{3, T{0x1.555556p-3f}});
    case PiecewiseActivation::kHardswish: return run.template operator()<1>(HardswishText<T>{3, 6});
    case PiecewiseActivation::kHardswishGrad: return run.template operator()<2>(HardswishGradText<T>{3, T{0.5}});
    case PiecewiseActivation::kScaledElu: return run.template operator()<1>(ScaledEluText<T>{a, b, c});
    case PiecewiseActivation::kScaledEluGrad: return run.template operator()<2>(ScaledEluGradText<T>{b, c, e});
    case PiecewiseActivation::kScaledEluGradOfResult:
      return run.template operator()<2>(ScaledEluGradOfResultText<T>{a, b, c});
    case PiecewiseActivation::kLogitGrad: return run.template operator()<2>(LogitGradText<T>{1});
    case PiecewiseActivation::kLogitGradWithin: return run.template operator()<2>(LogitGradWithinText<T>{a, b, 1});
    case PiecewiseActivation::kScaledSoftplus: return run.template operator()<1>(ScaledSoftplusText<T>{a, b});
    case PiecewiseActivation::kScaledSoftplusGrad: return run.template operator()<2>(ScaledSoftplusGradText<T>{a, b});
  }
}
