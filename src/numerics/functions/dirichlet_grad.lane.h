// SPDX-License-Identifier: MIT
/*! dirichlet_grad
How a sample x of the beta distribution with the parameters a = `alpha` and `b = total - a` moves with a at the same probability,
over 1 - x: `-(dI(x) / da) / (p (1 - x))`, I being the regularised incomplete beta function and p its density. It is not correctly
rounded, but made of steps of float64 that are; of float32 operands, too, and then rounded to float32. Its relative error is below
1e-9, and 1e-12 unless a or b is small or both are huge. It is NaN unless a and b are above 0 and finite and 0 <= x <= 1, and +0 at
x = 0.

Steps are as in standard_gamma_grad, and q is of it.

- a and b both at least 2^30: `d = (x * total - a) / a`, `w = a / b`, `W = q(d) + w * q(-(d * w))`, and the result is
  `x * ((1 - d * q(d)) / sqrt(a * W)) * sqrt(total / (2 * a * b))`.
- `x * (total + 2) < a + 1`: with F the fraction below of (a, b, x) and F' its derivative by a,
  `g = (round(psi(round(a + 1))) - round(psi(total))) - round(log(x))`, the result is `x / a * (g * F - F')`.
- else, with F the fraction of (b, a, 1 - x) and F' its derivative by the second parameter, a,
  `g = (round(psi(total)) - (round(psi(round(a + 1))) - 1 / a)) + round(log(x))`, the result is `x / b * (g * F + F')`.

The fraction of (A, B, X) is 1 / (1 + d_1 / (1 + d_2 / …)), DLMF 8.17.22, as a sum: at first D = s = F = 1, D' = s' = F' = 0. For
m = 0, 1, …, with `n = A + 2 + … + 2`, `u = A + m`, `w = (A + B) + m`, `o = 1 / (n * (n + 1))`: d is `-(u * w * X * o)` and its
derivative by A `d * ((1 / u + 1 / w) - (n + n + 1) * o)`, by B `-(u * X * o)`. Then with m and n of the next step,
`o = 1 / ((n - 1) * n)`, `k = m * X`: d is `k * (B - m) * o` and its derivative by A `-(d * ((n + n - 1) * o))`, by B `k * o`. Each
d goes into the sum as the numerator n of standard_gamma_grad's fraction does, with the denominator 1, whose derivative is 0: only
`v' + 0` stands in the place of `v' - 1`. After each second one it ends as that does.
*/

struct DirichletGradDouble {
  template <class D, class V>
  REPDL_LANE_RARE V operator()(D d, V x, V a, V total) const {
    const V zero = Zero(d), one = Set(d, 1.0), two = Set(d, 2.0), half = Set(d, 0.5), infinity = Inf(d);
    const V huge = Set(d, 0x1p30);
    V b = Sub(total, a);
    const auto proper = And(And(Gt(a, zero), Gt(b, zero)), Lt(total, infinity));
    const auto inside = And(proper, And(Gt(x, zero), Le(x, one))), at_zero = And(proper, Eq(x, zero));
    x = IfThenElse(inside, x, half);
    a = IfThenElse(inside, a, one);
    b = IfThenElse(inside, b, one);
    total = IfThenElse(inside, total, two);
    const auto both_huge = And(Ge(a, huge), Ge(b, huge));
    const auto lower = And(Not(both_huge), Lt(Mul(x, Add(total, two)), Add(a, one)));
    const auto upper = Not(Or(both_huge, lower));
    V result = zero;
    if (Any(d, both_huge)) {
      const V off = Div(Sub(Mul(x, total), a), a), odds = Div(a, b);
      const V share = DistanceShare(d, off), other = DistanceShare(d, Neg(Mul(off, odds)));
      const V root = Sqrt(Mul(a, Add(share, Mul(odds, other))));
      const V slope = Div(Sub(one, Mul(off, share)), root);
      result = Mul(Mul(x, slope), Sqrt(Div(total, Mul(Mul(two, a), b))));
    }
    if (Any(d, Not(both_huge))) {
      const V psi = DigammaDouble()(d, Add(a, one)), psi_of_total = DigammaDouble()(d, total), log = LogDouble()(d, x);
      V slope;
      if (Any(d, lower)) {
        const V sum = BetaFraction<false>(d, a, b, x, lower, slope), gap = Sub(Sub(psi, psi_of_total), log);
        result = IfThenElse(lower, Mul(Div(x, a), Sub(Mul(gap, sum), slope)), result);
      }
      if (Any(d, upper)) {
        const V sum = BetaFraction<true>(d, b, a, Sub(one, x), upper, slope);
        const V gap = Add(Sub(psi_of_total, Sub(psi, Div(one, a))), log);
        result = IfThenElse(upper, Mul(Div(x, b), Add(Mul(gap, sum), slope)), result);
      }
    }
    return IfThenElse(inside, result, IfThenElse(at_zero, zero, Sub(infinity, infinity)));
  }
};

template <class V>
REPDL_LANE V DirichletGrad(V x, V a, V total) {
  return ViaDouble(DirichletGradDouble(), x, a, total);
}
