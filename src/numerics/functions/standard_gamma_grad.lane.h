// SPDX-License-Identifier: MIT
/*! standard_gamma_grad
How a sample z = `output` of the gamma distribution with the shape a = `input` moves with a at the same probability:
`-(dP(a, z) / da) / p`, P(a, z) being the regularised lower incomplete gamma function and p = `z^(a - 1) exp(-z) / gamma(a)` its
density. It is not correctly rounded, but made of steps of float64 that are; of float32 operands, too, and then rounded to
float32. Its relative error is below 1e-13. It is NaN unless 0 < a < +inf and 0 <= z < +inf, and +0 at z = 0.

A step is `+ - * /`, the root or `fma(x, y, z)` = x y + z, in the order of the parentheses and else from the left; all constants
are the nearest doubles, and `round(…)` is correctly rounded as a whole (tested, not proven).

- 32 <= a and |z - a| < 0.4 a, where the difference and the product are rounded: Temme's expansion. Let `i = 1 / a`,
  `u = (z - a) / a`; `q(u)`, for |u| < 1/8, the polynomial in -u with the coefficients 1/2, 1/3, … 1/19 by Horner's rule with
  fma, and else `(u - round(log(1 + u))) / (u * u)`; `r = sqrt(q + q)`, `eta = u * r`, `c = 1 - u * q`, `l = u * c`. `S_k` is the
  polynomial of igamma's expansion with the coefficients d(k, n), n < 18, by Horner's rule with fma, and T_k its derivative, in
  the same loop: T = 0 at first, and before each step of S_k `T = fma(T, eta, S_k)`. From k = 9 to 0 likewise, from 0:
  `W = fma(W, i, S)`, `S = fma(S, i, S_k)`, `E = fma(E, i, T_k)`. With g igamma's polynomial of degree 9 for 1 / gamma*(a), the
  result is `((z / a) / g) * ((c / r + S * l) - ((S * 0.5 + i * W) + E / r) * i)`.
- z <= a + 0.5 or z < 3, elsewhere: a series. Let `g = round(psi(round(a + 1))) - round(log(z))`, `t_0 = 1 / a`, h_0 = 0,
  `s_0 = t_0 * g`. For n = 1, 2, …: `v = 1 / (a + 1 + … + 1)`, `t_n = t_(n - 1) * (z * v)`, `h_n = h_(n - 1) + v`,
  `s_n = s_(n - 1) + t_n * (g + h_n)`, until `t_n * (|g| + h_n)` is not above `|s_n| * 2^-54`. The result is `z * s_n`.
- else a continued fraction and its derivative. Let `g = round(log(z)) - (round(psi(round(a + 1))) - 1 / a)`,
  `b_0 = z + 1 - a`, `D = s = F = 1 / b_0`, `D' = s' = F' = D * D`. For i = 1, 2, …: `b_i = b_(i - 1) + 2`,
  `n = (a - i) * i`, `v = n * D`, `v' = i * D + n * D'`; then `D = 1 / (v + b_i)` and `D' = -((v' - 1) * (D * D))` of this D; then
  `e = v * D`, `e' = v' * D + v * D'`, `s' = -(s' * e + s * e')`, `s = -(s * e)`, `F = F + s`, `F' = F' + s'`, until neither |s| is
  above `|F| * 2^-54` nor |s'| above `|F'| * 2^-54`. The result is `z * (g * F + F')`.
*/

struct StandardGammaGradDouble {
  template <class D, class V>
  REPDL_LANE_RARE V operator()(D d, V a, V z) const {
    const V zero = Zero(d), one = Set(d, 1.0), infinity = Inf(d), large = Set(d, kLargeShape);
    const auto inside = And(And(Gt(a, zero), Lt(a, infinity)), And(Gt(z, zero), Lt(z, infinity)));
    const V given_a = a, given_z = z;
    a = IfThenElse(inside, a, one);
    z = IfThenElse(inside, z, one);
    const auto near = And(Ge(a, large), Lt(Abs(Sub(z, a)), Mul(a, Set(d, kNearShare))));
    V result = zero;
    if (Any(d, near)) result = GammaGradNear(d, IfThenElse(near, a, large), IfThenElse(near, z, large));
    if (Any(d, Not(near))) {
      const auto little = Or(Le(z, Add(a, Set(d, 0.5))), Lt(z, Set(d, 3.0)));
      const auto by_series = And(Not(near), little), by_fraction = Not(Or(near, little));
      const V psi = DigammaDouble()(d, Add(a, one)), log = LogDouble()(d, z);
      if (Any(d, by_series)) {
        const V sum = GammaGradSeries(d, a, z, Sub(psi, log), by_series);
        result = IfThenElse(by_series, Mul(z, sum), result);
      }
      if (Any(d, by_fraction)) {
        const V sum = GammaGradFraction(d, a, z, Sub(log, Sub(psi, Div(one, a))), by_fraction);
        result = IfThenElse(by_fraction, Mul(z, sum), result);
      }
    }
    const auto at_zero = And(And(Gt(given_a, zero), Lt(given_a, infinity)), Eq(given_z, zero));
    return IfThenElse(inside, result, IfThenElse(at_zero, zero, Sub(infinity, infinity)));
  }
};

template <class V>
REPDL_LANE V StandardGammaGrad(V a, V z) {
  return ViaDouble(StandardGammaGradDouble(), a, z);
}
