// SPDX-License-Identifier: MIT
// What each loss does to an element, in lane words; the contracts stand in piecewise_loss.h.

/// A gradient: `far` with the sign of the difference, `near` between the bounds and of NaN.
template <class V>
REPDL_ROW V SlopeOf(V away, V bound, V far, V near) {
  return IfThenElse(Le(away, Neg(bound)), Neg(far), IfThenElse(Ge(away, bound), far, near));
}

template <class T>
struct SmoothL1Text {
  T half, bound, half_bound;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V x, V y) const {
    const V away = Abs(Sub(x, y)), end = Set(d, bound);
    const V near = Div(Mul(Mul(away, Set(d, half)), away), end);
    return IfThenElse(Lt(away, end), near, Sub(away, Set(d, half_bound)));
  }
};

template <class T>
struct SmoothL1GradText {
  T bound, part;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x, V y) const {
    const V away = Sub(x, y), end = Set(d, bound), share = Set(d, part);
    return SlopeOf(away, end, Mul(share, g), Div(Mul(Mul(share, away), g), end));
  }
};

template <class T>
struct HuberText {
  T half, bound, half_bound;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V x, V y) const {
    const V away = Abs(Sub(x, y)), end = Set(d, bound);
    const V near = Mul(Mul(away, Set(d, half)), away);
    return IfThenElse(Le(away, end), near, Mul(Sub(away, Set(d, half_bound)), end));
  }
};

template <class T>
struct HuberGradText {
  T bound, part;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x, V y) const {
    const V away = Sub(x, y), end = Set(d, bound), share = Set(d, part);
    return SlopeOf(away, end, Mul(Mul(share, g), end), Mul(Mul(share, away), g));
  }
};

/// run.operator()<number of operands>(text) with the text of the call.
template <class T, class Run>
void WithPiecewiseLoss(const PiecewiseLossArgs& args, const Run& run) {
  const T bound = static_cast<T>(args.bound), half_bound = static_cast<T>(0.5 * args.bound), half{0.5};
  const T part = static_cast<T>(args.part);
  switch (args.op) {
    case PiecewiseLoss::kSmoothL1: return run.template operator()<2>(SmoothL1Text<T>{half, bound, half_bound});
    case PiecewiseLoss::kSmoothL1Grad: return run.template operator()<3>(SmoothL1GradText<T>{bound, part});
    case PiecewiseLoss::kHuber: return run.template operator()<2>(HuberText<T>{half, bound, half_bound});
    case PiecewiseLoss::kHuberGrad: return run.template operator()<3>(HuberGradText<T>{bound, part});
  }
}
