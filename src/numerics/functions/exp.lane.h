// SPDX-License-Identifier: MIT
/*! exp
`exp(x)`, correctly rounded. exp(-inf) = +0, exp(+inf) = +inf; subnormal results round as any other.
*/

// Beyond the limits the result is +0 or +inf all the same.
struct ExpWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return ExpOf(d, Limit(x, Set(d, -110.0), Set(d, 100.0)));
  }
};

// In floats: 2^(i / 16) to within a part in 2^24, and the logarithm of what it must still be multiplied by.
REPDL_TABLE(ExpPowersFloat, float, 16, 0x1.0p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f,
            0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f,
            0x1.9c4918p+0f, 0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f)
REPDL_TABLE(ExpPowersRest, float, 16, 0x0.0p+0f, 0x1.8d96d2p-25f, -0x1.9c0c22p-27f, 0x1.964902p-25f, 0x1.125002p-25f,
            0x1.370be4p-25f, -0x1.0a3552p-25f, -0x1.00d8acp-27f, 0x1.26055cp-26f, -0x1.05cb44p-25f, 0x1.67a1cap-28f,
            0x1.a3b5e4p-28f, -0x1.f9c306p-27f, -0x1.6961b4p-28f, -0x1.a5217cp-28f, 0x1.61428ep-28f)

// In floats x = n ln(2) / 16 + r, and 2^(n / 16) e^r is a sum high + low with an error below `bound`, which nearly always
// tells how to round. Where it does not, and where the result may be subnormal or overflow, the answer is that of ExpWide:
// that is faster than doubles for all.
template <class V>
REPDL_LANE V Exp(V x) {
  const auto d = TagFor(x);
  const IntTag<decltype(TagFor(x))> di;
  const V shift = Set(d, 0x1.8p23f), bound = Set(d, 0x1p-33f);
  const V shifted = Fma(x, Set(d, 0x1.715476p+4f), shift);
  const V n = Sub(shifted, shift);
  const auto bits = BitCast(di, shifted);
  const V power = LookUp<16>(d, ExpPowersFloat(), bits);
  // r and what the table's rounding left, as r + r_low: the first step is exact.
  const V exact = Fma(n, Set(d, -0x1.62e43p-5f), x);
  const V rest = Fma(n, Set(d, 0x1.05c61p-33f), LookUp<16>(d, ExpPowersRest(), bits));
  const V r = Add(exact, rest);
  const V r_low = Sub(rest, Sub(r, exact));
  const V tail = Fma(Fma(Set(d, 0x1.55560cp-5f), r, Set(d, 0x1.55571ep-3f)), r, Set(d, 0.5f));
  const V high = Fma(power, r, power);
  const V low = Fma(power, Fma(Mul(r, r), tail, r_low), Fma(power, r, Sub(power, high)));
  auto is_certain = Le(Abs(x), Set(d, 87.0f));
  const V y = RoundedWithin(high, low, bound, is_certain);
  const auto exponent = ShiftLeft<19>(And(bits, Set(di, -16)));  // n / 16, rounded down
  const V scaled = BitCast(d, Add(BitCast(di, y), exponent));
  if (Any(d, Not(is_certain))) return IfThenElse(is_certain, scaled, ViaDouble(ExpWide(), x));
  return scaled;
}

struct ExpFormula {
  static constexpr bool kScaled = true;
  static constexpr double kBound = 0x1p-68;
  template <class N, class D, class V>
  static REPDL_LANE N Of(D d, V& n, V x) {
    return ExpOver(d, Exactly<N>(d, Limit(x, Set(d, -750.0), Set(d, 720.0))), n);
  }
};

struct ExpOfAnyDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    return Correctly<ExpFormula>(d, x);
  }
};

struct ExpDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const IntTag<D> di;
    V low;
    auto exponent = Zero(di);
    const V high = QuickExpOver(d, x, low, exponent);
    // 1.28 2^-62, and 2^-65 for the rounding of the sums with low.
    const V bound = Set(d, 0x1.8p-62);
    auto certain = Le(Abs(x), Set(d, 708.0));  // the result is normal
    const V y = RoundedWithin(high, low, bound, certain);
    return IfCertain<ExpOfAnyDouble>(d, certain, BitCast(d, Add(BitCast(di, y), exponent)), x);
  }
};
