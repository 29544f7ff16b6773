// SPDX-License-Identifier: MIT
/*! exp2
`2^x`, correctly rounded. exp2(-inf) = +0, exp2(+inf) = +inf.
*/

// x = n / 16 + f, exactly; beyond the limits the result is +0 or +inf all the same. f ln(2) is moved a little, such that
// the two results nearest to a midpoint fall on the right side; 2^n stays exact.
struct Exp2Wide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    x = Limit(x, Set(d, -200.0), Set(d, 200.0));
    const V shift = Set(d, 0x1.8p48);
    const V shifted = Add(x, shift);
    const V f = Sub(x, Sub(shifted, shift));
    const V r = Fma(f, Set(d, 0x1.62e42fefa39e1p-1), Set(d, 0x1.8p-56));
    return ScaledExp(d, PowerOfTwo16th(d, shifted), r);
  }
};

struct Exp2OfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return ViaDouble(Exp2Wide(), x);
  }
};

// In floats f is exact, and so is its product with ln(2) as a sum, but for 2^-24 of the low part.
template <class V>
REPDL_LANE V Exp2(V x) {
  const auto d = TagFor(x);
  const V shift = Set(d, 0x1.8p19f), ln2 = Set(d, 0x1.62e43p-1f);
  const V shifted = Add(x, shift);
  const auto bits = BitCast(IntTag<decltype(TagFor(x))>(), shifted);
  const V f = Sub(x, Sub(shifted, shift)), r = Mul(f, ln2);
  const V rest = Fma(f, Set(d, -0x1.05c61p-29f), LookUp<16>(d, FloatExpRests(), bits));
  V low;
  const V high = ShortExpOfFloat(d, LookUp<16>(d, FloatExpPowers(), bits), r, Add(rest, Fma(f, ln2, Neg(r))), low);
  return IfCertainExpOfFloat<Exp2OfAnyFloat>(d, high, low, ExponentOf16ths(d, bits), 126.0f, x);
}

struct Exp2Formula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    return ExpOver(d, Times(Ln2<N>(d), Limit(x, Set(d, -1080.0), Set(d, 1030.0))), n);
  }
};

struct Exp2OfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    // 2^-1075 is midway between 0 and the least double.
    return IfThenZeroElse(Le(x, Set(d, -1075.0)), Correctly<Exp2Formula>(d, x));
  }
};

struct Exp2Double {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    V low;
    auto exponent = Zero(IntTag<D>());
    const V high = QuickExp2Over(d, x, low, exponent);
    return IfCertainExp<Exp2OfAnyDouble>(d, high, low, exponent, 1020.0, x);
  }
};
