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

struct TanhOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return ViaDouble(TanhWide(), x);
  }
};

REPDL_TABLE(TanhPieces, float, 192, 0x1.800138p+0f, 0x1.fffd18p+0f, 0x1.3ff23ap+1f, 0x1.7ffbe2p+1f, 0x1.e0015ep+1f,
            0x1.2ffd28p+2f, 0x1.700e5p+2f, 0x1.b018e4p+2f, 0x1.0481a4p+3f, 0.0f, 0.0f, 0x1.7fed1ap-3f, 0x1.7fef94p-2f,
            0x1.40000cp-1f, 0x1.bff04ep-1f, 0x1.1ff822p+0f, 0x1.cf7008p-1f, 0x1.ed949cp-1f, 0x1.f9240cp-1f,
            0x1.fd77a8p-1f, 0x1.ff6f1ap-1f, 0x1.ffec6p-1f, 0x1.fffd5ap-1f, 0x1.ffffa4p-1f, 0x1.fffffap-1f, 0x1.0p+0f,
            0.0f, 0x1.7b7dbap-3f, 0x1.6ee6eep-2f, 0x1.1bf486p-1f, 0x1.685e66p-1f, 0x1.9e5748p-1f, 0x1.24c05cp-27f,
            0x1.7f6a26p-26f, -0x1.ab6a5ap-26f, -0x1.102808p-26f, 0x1.7ea508p-26f, -0x1.2d9d9p-26f, -0x1.40437ap-26f,
            0x1.1a5b22p-27f, 0x1.34e4ap-27f, 0.0f, 0.0f, -0x1.ad95bep-28f, -0x1.2e3c42p-28f, 0x1.f5aae2p-26f,
            -0x1.323626p-26f, -0x1.903574p-28f, 0x1.721322p-3f, 0x1.216918p-4f, 0x1.b40c6ep-6f, 0x1.435f04p-7f,
            0x1.21a18p-9f, 0x1.3a0368p-12f, 0x1.534f3p-15f, 0x1.6ee584p-18f, 0x1.6cb1b4p-22f, 0.0f, 0x1.0p+0f,
            0x1.ee6b94p-1f, 0x1.be44dcp-1f, 0x1.6284bap-1f, 0x1.025b3p-1f, 0x1.616196p-2f, -0x1.4ef948p-3f,
            -0x1.16ffb2p-4f, -0x1.ae34f4p-6f, -0x1.41c588p-7f, -0x1.214f88p-9f, -0x1.39f75ep-12f, -0x1.534d6ep-15f,
            -0x1.6ee542p-18f, -0x1.6cb1a6p-22f, 0.0f, 0.0f, -0x1.6e760ap-3f, -0x1.3fcc82p-2f, -0x1.893b5cp-2f,
            -0x1.6baf8p-2f, -0x1.1dfa26p-2f, 0x1.67b004p-4f, 0x1.58fba6p-5f, 0x1.17180ap-6f, 0x1.a8c778p-8f,
            0x1.80e4fcp-10f, 0x1.a27f1p-13f, 0x1.c4628ep-16f, 0x1.e930fep-19f, 0x1.e64228p-23f, 0.0f, -0x1.555556p-2f,
            -0x1.27a942p-2f, -0x1.6ddb0cp-3f, -0x1.2425f4p-6f, 0x1.4ef6ap-4f, 0x1.c68b4cp-4f, -0x1.99062ep-6f,
            -0x1.25254ap-6f, -0x1.07e7bep-7f, -0x1.a053c2p-9f, -0x1.7f30dp-11f, -0x1.a23f0cp-14f, -0x1.c45962p-17f,
            -0x1.e92fd6p-20f, -0x1.e648cap-24f, 0.0f, 0x1.7b60bap-33f, 0x1.cf7316p-4f, 0x1.58494cp-3f, 0x1.1a6862p-3f,
            0x1.f24daap-5f, 0x1.aead32p-9f, -0x1.5c8254p-9f, 0x1.395866p-8f, 0x1.76bf94p-9f, 0x1.3fa6d2p-10f,
            0x1.2fd4b4p-12f, 0x1.4e3216p-15f, 0x1.69d20ep-18f, 0x1.87573cp-21f, 0x1.8505f6p-25f, 0.0f, 0x1.11110ep-3f,
            0x1.8c3c4p-4f, 0x1.32178ap-6f, -0x1.c3c03cp-5f, -0x1.e22d68p-5f, -0x1.05fd3ap-5f, 0x1.d0ffbcp-8f,
            -0x1.4d8234p-13f, -0x1.796052p-11f, -0x1.86e674p-12f, -0x1.8dd394p-14f, -0x1.bc6becp-17f, -0x1.e2269p-20f,
            -0x1.04d108p-22f, -0x1.02acfep-26f, 0.0f, 0x1.1012bp-20f, -0x1.e861dep-5f, -0x1.1d5cc2p-4f, -0x1.87d8e2p-6f,
            0x1.b277a4p-7f, 0x1.3069ap-6f, -0x1.03f0ap-8f, -0x1.57107cp-11f, 0x1.4c86b4p-14f, 0x1.6f915cp-14f,
            0x1.b63f1p-16f, 0x1.f9853ep-19f, 0x1.135a8ap-21f, 0x1.2a0fe2p-24f, 0x1.27b71ap-28f, 0.0f, -0x1.ba499ap-5f,
            -0x1.e5ed9p-6f, 0x1.a7574cp-7f, 0x1.e7f754p-6f, 0x1.69a95ep-7f, -0x1.59fa0ep-9f, 0x1.fe53ap-11f,
            0x1.c7b79ap-12f, 0x1.4f726ap-15f, -0x1.a46038p-17f, -0x1.9a1b54p-18f, -0x1.ff43fep-21f, -0x1.192d06p-23f,
            -0x1.30c2f4p-26f, -0x1.3dbb9p-30f, 0.0f, 0x1.e3680cp-13f, 0x1.cd7188p-6f, 0x1.75dea2p-6f, -0x1.273cb8p-8f,
            -0x1.486152p-7f, -0x1.bfc27p-9f, 0x1.c7274p-13f, -0x1.58282p-13f, -0x1.08c9b2p-15f, -0x1.37f074p-20f,
            0x1.2e00f2p-20f, 0x1.bb4f9ep-23f, 0x1.f132cap-26f, 0x1.0e5d7p-28f, 0x1.197c8ap-32f, 0.0f, 0x1.55b15p-6f,
            0x1.f231dep-8f, -0x1.7501fcp-7f, -0x1.11eedcp-7f, 0x1.053eeap-9f, 0x1.679608p-9f)
// In floats. Pieces are of one width where 0.75 + |x| has one exponent, a quarter of its power of two. From 9.25 on the
// result is 1.
template <class V>
REPDL_LANE V Tanh(V x) {
  const auto d = TagFor(x);
  const IntTag<decltype(TagFor(x))> di;
  const V a = Abs(x);
  V low, bend, y;
  const auto index = ShiftRightLogical<21>(BitCast(di, Min(Add(a, Set(d, 0.75f)), Set(d, 11.0f))));
  const V high = PieceOfFloat<16, 8, false>(d, TanhPieces(), index, a, low, bend);
  const auto certain = PieceRounds(d, high, low, bend, y);
  return IfCertain<TanhOfAnyFloat>(d, certain, CopySign(y, x), x);
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
    auto certain = Ge(a, Zero(d));
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
