// SPDX-License-Identifier: MIT
/*! tanh
`tanh(x)`, correctly rounded. tanh(±0) = ±0, tanh(±inf) = ±1.
*/

// tanh(a) = t / (t + 2) with t = e^2a - 1 = scale em1 + (scale - 1), where scale = 2^(n / 16) and em1 = e^(2a - n ln(2) / 16)
// - 1. Near 0, n = 0 and t is em1: the relative error stays small.
struct TanhWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V shift = Set(d, 0x1.8p52), one = Set(d, 1.0);
    const V a = Abs(x);
    const V twice = Add(a, a);
    const V shifted = Fma(twice, Set(d, 0x1.71547652b82fep+4), shift);  // 16 / ln 2
    // n is small: ln(2) / 16 as one double is enough.
    const V r = Fma(Sub(shifted, shift), Set(d, -0x1.62e42fefa39efp-5), twice);
    const V scale = PowerOfTwo16th(d, shifted);
    const V t = Fma(scale, ShortExpm1(d, r), Sub(scale, one));
    const V y = Div(t, Add(t, Set(d, 2.0)));
    const V saturated = IfThenElse(Gt(a, Set(d, 10.0)), one, y);  // NaN is not
    return CopySign(saturated, x);
  }
};

template <class V>
REPDL_LANE V Tanh(V x) {
  return ViaDouble(TanhWide(), x);
}

// t / (t + 2) with t = e^2x - 1. Beyond the limits the result is +-1 all the same.
struct TanhFormula {
  static constexpr bool kScaled = false;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V&, V x) {
    x = Limit(x, Set(d, -20.0), Set(d, 20.0));
    const N t = Expm1Number(d, Exactly<N>(d, Add(x, x)));
    return Over(t, Plus(t, Exactly<N>(d, Set(d, 2.0))));
  }
};

struct TanhOfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return IfThenElse(Lt(Abs(x), Set(d, 0x1p-28)), x, Correctly<TanhFormula>(d, x));
  }
};

// t / (t + 2): its relative error is not larger than that of t, 2^-63.6, as 2^-100 is enough for the quotient. From
// t = 2^53 on, t may be off by another 2^-53 of it, which counts for less than 2^-104 here; from x = 20 on the result is
// as at 20.
struct TanhDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V limit = Set(d, 20.0), two = Set(d, 2.0);
    V a = Abs(x);
    auto certain = Eq(a, a);
    a = IfThenElse(Gt(a, limit), limit, a);
    const Pair<V> t = QuickExpm1<true>(d, Add(a, a));
    const V t_high = t.high, t_low = t.low;
    V error;
    const V sum = FastTwoSum(Max(t_high, two), Min(t_high, two), error);
    const V inverse = Div(Set(d, 1.0), sum);
    const V high = Mul(t_high, inverse), minus_high = Neg(high);
    const V rest = Add(Fma(minus_high, sum, t_high), t_low);
    const V low = Mul(Fma(minus_high, Add(error, t_low), rest), inverse);
    const V y = RoundedWithin(high, low, Mul(high, Set(d, 0x1p-63)), certain);
    return IfCertain<TanhOfAnyDouble>(d, certain, CopySign(y, x), x);
  }
};

/*! tanh_grad
In float64: `d = 1 - output * output`, rounded once; `grad_input = grad_output * d`, rounded to
float64, then to float32. The operands are broadcast.
*/
struct TanhGradWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V output) const {
    return Mul(grad_output, Sub(Set(d, 1.0), Mul(output, output)));
  }
};

template <class V>
REPDL_LANE V TanhGrad(V grad_output, V output) {
  return ViaDouble(TanhGradWide(), grad_output, output);
}

/// `d` is rounded once here too.
struct TanhGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V output) const {
    return Mul(grad_output, Fma(Neg(output), output, Set(d, 1.0)));
  }
};
