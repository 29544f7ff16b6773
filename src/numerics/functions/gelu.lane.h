// SPDX-License-Identifier: MIT
/*! gelu
`x * Phi(x)`, correctly rounded; Phi is the distribution function of the standard normal law. gelu(±0) = ±0, gelu(-inf)
= -0, gelu(+inf) = +inf.
*/

// In double, t = |x|: -t Phi(-t) for x < 0, else x - t Phi(-t). t^2 is exact. From t = 15 on, the result is -0 or x.
// Half of a subnormal x may be a midpoint between floats, and gelu is above it: so is x times a tail just off 1/2.
struct GeluWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V t = Min(Abs(x), Set(d, 15.0));
    const V s = Max(t, Set(d, 0x1p-50));
    V tail = NormalTail(d, s, ExpOf(d, Mul(Mul(s, s), Set(d, -0.5))));
    tail = Patch(d, t, tail, 0x1.6148dep-16, 0x1.fffdcc3d41bf4p-2);
    return Fma(Neg(t), tail, IfThenZeroElse(Lt(x, Zero(d)), x));
  }
};

// The same for 2^-100 <= |x| <= 13, with a shorter p / q, within 2^-38.5 of e^(t^2 / 2) Phi(-t): that nearly always tells
// how to round to a float. Even and odd terms are polynomials in t^2, which is at hand.
struct GeluToFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V t = Abs(x), s = Mul(t, t);
    const V density = QuickExp2(d, Mul(s, Set(d, -0x1.71547652b82fep+3)));
    V p_even = Fma(Set(d, 0x1.556619b8594c1p-13), s, Set(d, 0x1.6990e93456700p-6));
    p_even = Fma(p_even, s, Set(d, 0x1.41df67e037737p-2));
    p_even = Fma(p_even, s, Set(d, 0x1.00000000003fbp-1));
    V p_odd = Fma(Set(d, 0x1.6985467f10a6ap-9), s, Set(d, 0x1.aeb299ddbe0bbp-4));
    p_odd = Fma(p_odd, s, Set(d, 0x1.21550789fabb2p-1));
    V q_even = Fma(Set(d, 0x1.c5196c91cd383p-8), s, Set(d, 0x1.14fc0a3cd1f65p-2));
    q_even = Fma(q_even, s, Set(d, 0x1.aac3c052ae532p+0));
    q_even = Fma(q_even, s, Set(d, 0x1p+0));
    V q_odd = Fma(Set(d, 0x1.abe140af6f3a6p-12), s, Set(d, 0x1.c87f2c5093f86p-5));
    q_odd = Fma(q_odd, s, Set(d, 0x1.af46238785e62p-1));
    q_odd = Fma(q_odd, s, Set(d, 0x1.ed973128c2fe1p+0));
    const V tail = Mul(density, Div(Fma(p_odd, t, p_even), Fma(q_odd, t, q_even)));
    const V y = Fma(Neg(t), tail, Max(x, Zero(d)));
    const auto hard = NearMidpoint<15>(d, y);
    if (Any(d, hard)) return IfThenElse(hard, Rarely<GeluWide>(d, x), y);
    return y;
  }
};

struct GeluOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V t = Abs(x);
    const auto usual = And(Ge(t, Set(d, 0x1p-100f)), Le(t, Set(d, 13.0f)));
    const V y = ViaDouble(GeluToFloat(), x);
    if (Any(d, Not(usual))) return IfThenElse(usual, y, ViaDouble(GeluWide(), x));
    return y;
  }
};

// The same for 2^-100 <= |x| <= 3.5 by a polynomial p in x^2 - 6, within 2^-39 of gelu: that nearly always tells how to
// round to a float. Every fourth term of p is in a sum of its own.
struct GeluNearZero {
  template <class D, class V, class M>
  REPDL_LANE V operator()(D d, V x, M& hard) const {
    const V z = Fma(x, x, Set(d, -6.0)), z2 = Mul(z, z), z4 = Mul(z2, z2);
    V p0 = Fma(Set(d, 0x1.ccb8a82769fcbp-72), z4, Set(d, 0x1.2a299cd436610p-51));
    p0 = Fma(p0, z4, Set(d, 0x1.65a1c843ffce1p-33));
    p0 = Fma(p0, z4, Set(d, 0x1.77d7f5c84daf4p-17));
    p0 = Fma(p0, z4, Set(d, 0x1.9c10d3b8a523fp-3));
    V p1 = Fma(Set(d, -0x1.4e80983a52556p-56), z4, Set(d, -0x1.11d076e540817p-37));
    p1 = Fma(p1, z4, Set(d, -0x1.b733ddac3007bp-21));
    p1 = Fma(p1, z4, Set(d, -0x1.ef2f1bcc4b391p-7));
    V p2 = Fma(Set(d, 0x1.684d7d3c185a7p-61), z4, Set(d, 0x1.804d150b3bfaap-42));
    p2 = Fma(p2, z4, Set(d, 0x1.c882a400883aep-25));
    p2 = Fma(p2, z4, Set(d, 0x1.82b5c97873184p-10));
    V p3 = Fma(Set(d, -0x1.670848aa834bap-66), z4, Set(d, -0x1.f1552b241acc4p-47));
    p3 = Fma(p3, z4, Set(d, -0x1.a9275e019131ep-29));
    p3 = Fma(p3, z4, Set(d, -0x1.1d0bc76b332a7p-13));
    const V p = Fma(Fma(p3, z, p2), z2, Fma(p1, z, p0));
    const V y = Mul(x, Fma(x, p, Set(d, 0.5)));
    hard = NearMidpoint<14>(d, y);
    return y;
  }
};

// x Phi(x) with Phi(-t) = erfc(t / sqrt(2)) / 2 in two doubles. From 8.5 on, the result is x; from -8.5 downwards the
// accurate step computes it.
struct GeluDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V limit = Set(d, 6.0), inverse = Set(d, 0x1.6a09e667f3bcdp-1), zero = Zero(d), two = Set(d, 2.0);
    const V a = Abs(x);
    V t_low;
    V t = TwoProd(a, inverse, t_low);
    t_low = Fma(a, Set(d, -0x1.bdd3413b26456p-55), t_low);
    const auto far = Gt(t, limit);
    t = IfThenElse(far, limit, t);
    t_low = IfThenZeroElse(far, t_low);
    V tail_low, part, error, low;
    const V tail = ErfcPair(d, t, t_low, tail_low, part);
    const auto right = Gt(x, zero);
    const V twice = FastTwoSum(IfThenElseZero(right, two), IfThenElse(right, Neg(tail), tail), error);
    const V twice_low = Add(error, IfThenElse(right, Neg(tail_low), tail_low));
    const V half = Mul(x, Set(d, 0.5));
    const V high = MulPairs(half, zero, twice, twice_low, low);
    const auto usual = And(And(Ge(a, Set(d, 0x1p-900)), Le(a, Set(d, 0x1p900))), Or(right, Not(far)));
    const V wrong = Mul(a, Fma(tail, part, Mul(twice, Set(d, 0x1p-100))));
    return RoundOr(d, usual, high, low, wrong, accurate::Gelu, x);
  }
};

template <class V>
REPDL_LANE V Gelu(V x) {
  const auto d = TagFor(x);
  const V t = Abs(x);
  const auto near_zero = And(Ge(t, Set(d, 0x1p-100f)), Le(t, Set(d, 3.5f)));
  return QuicklyViaDouble<GeluNearZero, GeluOfAnyFloat>(d, near_zero, x);
}

/*! gelu_derivative
`Phi(x) + x * phi(x)`, correctly rounded; phi is the density of the standard normal law. It is -0 at -inf, 1 at +inf.
*/

// gelu'(-t) = e^(-t^2 / 2) (zero - t) p(t) / q(t), where zero is its only one, and gelu'(t) = 1 - gelu'(-t).
struct GeluDerivativeWide {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V t = Abs(Limit(x, Set(d, -15.0), Set(d, 15.0)));
    V p = Set(d, 0x1.2016ecc64deb7p-16);
    p = Fma(p, t, Set(d, 0x1.ae0eab972ca9ap-12));
    p = Fma(p, t, Set(d, 0x1.2e56ea050a679p-8));
    p = Fma(p, t, Set(d, 0x1.03176133f8906p-5));
    p = Fma(p, t, Set(d, 0x1.266f07d81aae1p-3));
    p = Fma(p, t, Set(d, 0x1.c5539ca074421p-2));
    p = Fma(p, t, Set(d, 0x1.ce5092ec7ad56p-1));
    p = Fma(p, t, Set(d, 0x1.1f72b13ded09ap+0));
    p = Fma(p, t, Set(d, 0x1.54851a5cc1ec8p-1));
    V q = Set(d, 0x1.691113a486c01p-15);
    q = Fma(q, t, Set(d, 0x1.0504074c3a7fdp-10));
    q = Fma(q, t, Set(d, 0x1.6302ce3bd1831p-7));
    q = Fma(q, t, Set(d, 0x1.2531279c56e28p-4));
    q = Fma(q, t, Set(d, 0x1.3f0970ae8980ep-2));
    q = Fma(q, t, Set(d, 0x1.d196a1bdf1c8ap-1));
    q = Fma(q, t, Set(d, 0x1.badeca461392ep+0));
    q = Fma(q, t, Set(d, 0x1.f432eceaa482ep+0));
    q = Fma(q, t, Set(d, 0x1p+0));
    const V below = Add(Sub(Set(d, 0x1.80ead20000000p-1), t), Set(d, -0x1.a03fd3089f3a6p-27));  // zero - t
    V y = Mul(ExpOf(d, Mul(Mul(t, t), Set(d, -0.5))), Mul(below, Div(p, q)));
    y = Patch(d, t, y, 0x1.40d932p-25, 0x1.fffffdffffffcp-2);
    y = Patch(d, t, y, 0x1.40d932p-26, 0x1.fffffeffffffcp-2);
    y = Patch(d, t, y, 0x1.a1becap-14, 0x1.ffeb2affffff0p-2);
    return IfThenElse(Lt(x, Zero(d)), y, Sub(Set(d, 1.0), y));
  }
};

// The same for |x| <= 3.5, as GeluNearZero; not within 2^-39 of a result that is small.
struct GeluDerivativeNearZero {
  template <class D, class V, class M>
  REPDL_LANE V operator()(D d, V x, M& hard) const {
    const V z = Fma(x, x, Set(d, -6.0)), z2 = Mul(z, z), z4 = Mul(z2, z2);
    V p0 = Fma(Set(d, 0x1.37ed9f1251d18p-66), z4, Set(d, 0x1.7f6e1ef72f8e6p-47));
    p0 = Fma(p0, z4, Set(d, 0x1.1ed258a82c22dp-29));
    p0 = Fma(p0, z4, Set(d, 0x1.07eda35e31f87p-14));
    p0 = Fma(p0, z4, Set(d, 0x1.c4be529812011p-3));
    V p1 = Fma(Set(d, -0x1.be221ae66a204p-72), z4, Set(d, -0x1.d4d42094dee66p-52));
    p1 = Fma(p1, z4, Set(d, -0x1.f8649f8e9e420p-34));
    p1 = Fma(p1, z4, Set(d, -0x1.92044fddf815cp-18));
    p1 = Fma(p1, z4, Set(d, -0x1.9a4d8963d8d00p-6));
    V p2 = Fma(Set(d, 0x1.0a464df2aeef6p-56), z4, Set(d, 0x1.90274a1baf81ep-38));
    p2 = Fma(p2, z4, Set(d, 0x1.03f162a56501bp-21));
    p2 = Fma(p2, z4, Set(d, 0x1.03636ddbe1d29p-8));
    V p3 = Fma(Set(d, -0x1.2462d97898eacp-61), z4, Set(d, -0x1.21201e9d67936p-42));
    p3 = Fma(p3, z4, Set(d, -0x1.230ab89c12ee4p-25));
    p3 = Fma(p3, z4, Set(d, -0x1.20359682b60eap-11));
    const V p = Fma(Fma(p3, z, p2), z2, Fma(p1, z, p0));
    const V y = Fma(x, p, Set(d, 0.5));
    hard = Or(NearMidpoint<14>(d, y), Lt(Abs(y), Set(d, 0x1p-9)));
    return y;
  }
};

// For t = |x| / sqrt(2), gelu'(-|x|) = (erfc(t) - t erf'(t)) / 2, and gelu'(|x|) = 1 - gelu'(-|x|).
struct GeluDerivativeDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V x) const {
    const V limit = Set(d, 6.0), inverse = Set(d, 0x1.6a09e667f3bcdp-1), zero = Zero(d), two = Set(d, 2.0);
    const V minus_two = Set(d, -2.0), one = Set(d, 1.0), half = Set(d, 0.5), a = Abs(x);
    V t_low;
    V t = TwoProd(a, inverse, t_low);
    t_low = Fma(a, Set(d, -0x1.bdd3413b26456p-55), t_low);
    const auto far = Gt(t, limit);
    t = IfThenElse(far, limit, t);
    t_low = IfThenZeroElse(far, t_low);
    V tail, tail_low, step, step_low, slope, slope_low, w, w_low, rest, rest_low, error, low;
    ErfcAbout(d, t, t_low, tail, tail_low, step, step_low, slope, slope_low, w, w_low, rest, rest_low);
    // erf'(t): of t_low the derivative is enough.
    const V first = Mul(w, minus_two);
    V f_low, f_error;
    V f = FastTwoSum(one, first, f_low);
    f = FastTwoSum(f, rest, f_error);
    f_low = Fma(w_low, minus_two, Add(Add(f_low, f_error), rest_low));
    f_low = Fma(Mul(Mul(t, t_low), minus_two), Add(f, f_low), f_low);
    V density_low, product_low;
    const V density = MulPairs(slope, slope_low, f, f_low, density_low);
    const V product = MulPairs(t, t_low, density, density_low, product_low);
    V sum_error;
    V high = FastTwoSum(tail, Neg(step), error);
    low = Add(error, Sub(tail_low, step_low));
    high = TwoSum(high, Neg(product), sum_error);
    low = Add(sum_error, Sub(low, product_low));
    const auto right = Gt(x, zero);
    V end_error;
    high = TwoSum(IfThenElseZero(right, two), IfThenElse(right, Neg(high), high), end_error);
    low = Add(end_error, IfThenElse(right, Neg(low), low));
    const V part = Fma(Mul(Mul(w, w), Abs(w)), Set(d, 0x1p-49), Set(d, 0x1p-68));
    const V wrong = Fma(Add(tail, product), part, IfThenElseZero(right, Set(d, 0x1p-100)));
    const auto usual = Not(Or(far, IsNaN(x)));
    return RoundOr(d, usual, Mul(high, half), Mul(low, half), wrong, accurate::GeluDerivative, x);
  }
};

struct GeluDerivativeOfAnyFloat {
  template <class D, class V>
  REPDL_LANE V operator()(D, V x) const {
    return ViaDouble(GeluDerivativeWide(), x);
  }
};

template <class V>
REPDL_LANE V GeluDerivative(V x) {
  const auto d = TagFor(x);
  return QuicklyViaDouble<GeluDerivativeNearZero, GeluDerivativeOfAnyFloat>(d, Le(Abs(x), Set(d, 3.5f)), x);
}

/*! gelu_grad
`grad_output * gelu_derivative(input)`, the derivative rounded before the product.
*/
template <class V>
REPDL_LANE V GeluGrad(V grad_output, V input) {
  return Mul(grad_output, GeluDerivative(input));
}

struct GeluGradDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V grad_output, V input) const {
    return Mul(grad_output, GeluDerivativeDouble()(d, input));
  }
};
