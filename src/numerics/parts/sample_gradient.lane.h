// SPDX-License-Identifier: MIT
// The steps of how samples of gamma and beta distributions move with their parameters, of doubles.

/// (u - log(1 + u)) / u^2: for |u| < 1/8 by the power series, where the difference would cancel.
template <class D, class V>
REPDL_LANE_RARE V DistanceShare(D d, V u) {
  constexpr int kTerms = 18;
  const auto near = Lt(Abs(u), Set(d, 0.125));
  const V t = IfThenElseZero(near, Neg(u));
  V share = Set(d, 1.0 / (kTerms + 1));
  for (int k = kTerms - 2; k >= 0; --k) share = Fma(share, t, Set(d, 1.0 / (k + 2)));
  if (!Any(d, Not(near))) return share;
  const V far = IfThenElse(near, Set(d, 1.0), u);
  return IfThenElse(near, share, Div(Sub(far, Log1pDouble()(d, far)), Mul(far, far)));
}

/// Temme's expansion, for a >= 32 and |z - a| < 0.4 a.
template <class D, class V>
REPDL_LANE_RARE V GammaGradNear(D d, V a, V z) {
  constexpr int kRows = 10, kColumns = 18;
  const V one = Set(d, 1.0), inverse = Div(one, a), u = Div(Sub(z, a), a);
  const V share = DistanceShare(d, u), root = Sqrt(Add(share, share)), eta = Mul(u, root);
  const V rest = Sub(one, Mul(u, share)), log = Mul(u, rest);
  V sum = Zero(d), by_inverse = sum, by_eta = sum;  // S and its derivatives
  for (int k = kRows - 1; k >= 0; --k) {
    const double* row = TemmeSeries() + k * kColumns;
    V p = Set(d, row[kColumns - 1]), slope = Zero(d);
    for (int n = kColumns - 2; n >= 0; --n) {
      slope = Fma(slope, eta, p);
      p = Fma(p, eta, Set(d, row[n]));
    }
    by_inverse = Fma(by_inverse, inverse, sum);
    sum = Fma(sum, inverse, p);
    by_eta = Fma(by_eta, inverse, slope);
  }
  V star = Set(d, OverGammaStar()[9]);
  for (int k = 8; k >= 0; --k) star = Fma(star, inverse, Set(d, OverGammaStar()[k]));
  const V more = Add(Add(Mul(sum, Set(d, 0.5)), Mul(inverse, by_inverse)), Div(by_eta, root));
  const V total = Sub(Add(Div(rest, root), Mul(sum, log)), Mul(more, inverse));
  return Mul(Div(Div(z, a), star), total);
}

/// The sum of z^n / (a … (a + n)) (gap + 1 / (a + 1) + … + 1 / (a + n)), gap being psi(a + 1) - log(z), where `counts` is
/// set.
template <class D, class V, class M>
REPDL_LANE V GammaGradSeries(D d, V a, V z, V gap, M counts) {
  const V one = Set(d, 1.0), negligible = Set(d, kNegligibleTerm), size = Abs(gap);
  V term = Div(one, a), sum = Mul(term, gap), harmonic = Zero(d), n = a;
  for (;;) {
    if (!Any(d, counts)) return sum;
    n = Add(n, one);
    const V inverse = Div(one, n);
    term = Mul(term, Mul(z, inverse));
    harmonic = Add(harmonic, inverse);
    sum = IfThenElse(counts, Add(sum, Mul(term, Add(gap, harmonic))), sum);
    counts = And(counts, Gt(Mul(term, Add(size, harmonic)), Mul(Abs(sum), negligible)));
  }
}

/// A continued fraction 1 / (b_0 + n_1 / (b_1 + …)) from the front, and its derivative: the terms of both sums.
template <class V>
struct FractionWithSlope {
  MemberOf<V> inverse, inverse_slope, step, step_slope, sum, sum_slope;
};

/// Goes on by the numerator n and the denominator b, and their derivatives.
template <class D, class V, class M>
REPDL_LANE void GoOn(D d, V n, V n_slope, V b, V b_slope, M counts, FractionWithSlope<V>& f) {
  const V product = Mul(n, V(f.inverse));
  const V product_slope = Add(Mul(n_slope, V(f.inverse)), Mul(n, V(f.inverse_slope)));
  const V inverse = Div(Set(d, 1.0), Add(product, b));
  const V inverse_slope = Neg(Mul(Add(product_slope, b_slope), Mul(inverse, inverse)));
  const V ratio = Mul(product, inverse);
  const V ratio_slope = Add(Mul(product_slope, inverse), Mul(product, inverse_slope));
  f.step_slope = Neg(Add(Mul(V(f.step_slope), ratio), Mul(V(f.step), ratio_slope)));
  f.step = Neg(Mul(V(f.step), ratio));
  f.inverse = inverse;
  f.inverse_slope = inverse_slope;
  f.sum = IfThenElse(counts, Add(V(f.sum), V(f.step)), V(f.sum));
  f.sum_slope = IfThenElse(counts, Add(V(f.sum_slope), V(f.step_slope)), V(f.sum_slope));
}

/// Where a term still counts.
template <class D, class V>
REPDL_LANE auto Continues(D d, const FractionWithSlope<V>& f) {
  const V negligible = Set(d, kNegligibleTerm);
  return Or(Gt(Abs(V(f.step)), Mul(Abs(V(f.sum)), negligible)),
            Gt(Abs(V(f.step_slope)), Mul(Abs(V(f.sum_slope)), negligible)));
}

/// gap F + F', F being the fraction of Q(a, z), F' its derivative by a, and gap log(z) - psi(a), where `counts` is set.
template <class D, class V, class M>
REPDL_LANE V GammaGradFraction(D d, V a, V z, V gap, M counts) {
  const V one = Set(d, 1.0), two = Set(d, 2.0), minus_one = Set(d, -1.0);
  V b = Sub(Add(z, one), a), i = one;
  const V first = Div(one, b), slope = Mul(first, first);
  FractionWithSlope<V> f = {first, slope, first, slope, first, slope};
  while (Any(d, counts)) {
    b = Add(b, two);
    GoOn(d, Mul(Sub(a, i), i), i, b, minus_one, counts, f);
    counts = And(counts, Continues(d, f));
    i = Add(i, one);
  }
  return Add(Mul(gap, V(f.sum)), V(f.sum_slope));
}

/// The fraction of the incomplete beta function I_x(a, b) (DLMF 8.17.22), and its derivative by a or, with kBySecond, by b.
template <bool kBySecond, class D, class V, class M>
REPDL_LANE V BetaFraction(D d, V a, V b, V x, M counts, V& by_parameter) {
  const V zero = Zero(d), one = Set(d, 1.0), two = Set(d, 2.0), total = Add(a, b);
  V m = zero, n = a;  // a + 2 m
  FractionWithSlope<V> f = {one, zero, one, zero, one, zero};
  while (Any(d, counts)) {
    const V u = Add(a, m), w = Add(total, m), odd_scale = Div(one, Mul(n, Add(n, one)));
    const V odd = Neg(Mul(Mul(Mul(u, w), x), odd_scale));
    V slope;
    if constexpr (kBySecond) {
      slope = Neg(Mul(Mul(u, x), odd_scale));
    } else {
      slope = Mul(odd, Sub(Add(Div(one, u), Div(one, w)), Mul(Add(Add(n, n), one), odd_scale)));
    }
    GoOn(d, odd, slope, one, zero, counts, f);
    m = Add(m, one);
    n = Add(n, two);
    const V even_scale = Div(one, Mul(Sub(n, one), n)), k = Mul(m, x);
    const V even = Mul(Mul(k, Sub(b, m)), even_scale);
    if constexpr (kBySecond) {
      slope = Mul(k, even_scale);
    } else {
      slope = Neg(Mul(even, Mul(Sub(Add(n, n), one), even_scale)));
    }
    GoOn(d, even, slope, one, zero, counts, f);
    counts = And(counts, Continues(d, f));
  }
  by_parameter = f.sum_slope;
  return f.sum;
}
