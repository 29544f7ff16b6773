// SPDX-License-Identifier: MIT
// What each loss does to an element, in lane words; the contracts stand in log_loss.h.

/// max(x, bound), of NaN NaN.
template <class V>
REPDL_ROW V AtLeast(V x, V bound) {
  return IfThenElse(Lt(x, bound), bound, x);
}

/// A term of binary_cross_entropy without a weight.
template <class D, class V>
REPDL_ROW V EntropyOf(D d, V x, V y) {
  const V lowest = Set(d, -100);
  const V off = AtLeast(Log1pOfEach(Neg(x)), lowest), on = AtLeast(LogOfEach(x), lowest);
  return Sub(Mul(off, Sub(y, Set(d, 1))), Mul(on, y));
}

struct EntropyText {
  template <class D, class V>
  REPDL_ROW V operator()(D d, V x, V y) const {
    return EntropyOf(d, x, y);
  }
};
struct WeightedEntropyText {
  template <class D, class V>
  REPDL_ROW V operator()(D d, V x, V y, V weight) const {
    return Mul(EntropyOf(d, x, y), weight);
  }
};

template <class T>
struct EntropyGradText {
  T part, least;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x, V y) const {
    const V width = AtLeast(Mul(Sub(Set(d, 1), x), x), Set(d, least));
    return Div(Mul(Mul(Set(d, part), g), Sub(x, y)), width);
  }
};
template <class T>
struct WeightedEntropyGradText {
  EntropyGradText<T> plain;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x, V y, V weight) const {
    return Mul(plain(d, g, x, y), weight);
  }
};

struct SoftMarginText {
  template <class D, class V>
  REPDL_ROW V operator()(D, V x, V y) const {
    return SoftplusOfEach(Mul(Neg(y), x));
  }
};
template <class T>
struct SoftMarginGradText {
  T part;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V g, V x, V y) const {
    const V away = Neg(y);
    return Mul(Mul(away, SigmoidOfEach(Mul(away, x))), Mul(Set(d, part), g));
  }
};

/// run.operator()<number of operands>(text) with the text of the call.
template <class T, class Run>
void WithLogLoss(const LogLossArgs& args, const Run& run) {
  const T part = static_cast<T>(args.part);
  const EntropyGradText<T> gradient{part, static_cast<T>(1e-12)};
  switch (args.op) {
    case LogLoss::kBinaryCrossEntropy: return run.template operator()<2>(EntropyText());
    case LogLoss::kWeightedEntropy: return run.template operator()<3>(WeightedEntropyText());
    case LogLoss::kBinaryCrossEntropyGrad: return run.template operator()<3>(gradient);
    case LogLoss::kWeightedEntropyGrad: return run.template operator()<4>(WeightedEntropyGradText<T>{gradient});
    case LogLoss::kSoftMargin: return run.template operator()<2>(SoftMarginText());
    case LogLoss::kSoftMarginGrad: return run.template operator()<3>(SoftMarginGradText<T>{part});
  }
}
