// SPDX-License-Identifier: MIT
/*! igamma
The regularised lower incomplete gamma function of `input` a and `other` x, P(a, x): the integral of
`t^(a - 1) exp(-t)` from 0 to x, divided by that to infinity, gamma(a). It is not correctly rounded, but made of steps
of float64 that are; of float32 operands, too, and then rounded to float32. It is NaN for a < 0, for x < 0, for
a = x = 0 and for a = x = +inf, else P(a, 0) = P(+inf, x) = 0, P(0, x) = P(a, +inf) = 1.

In some places it is P that the steps give, in others `Q = 1 - P`; the other one is 1 less it, rounded. All constants
are the nearest doubles. A step is `+ - * /`, the root or `fma(x, y, z)` = x y + z, in the order of the
parentheses and else from the left; `round(…)` is correctly rounded as a whole (tested, not proven).

- 32 <= a and |x - a| < 0.4 a, where the difference and the product are rounded: Temme's expansion. Let
  `r = x / a`, `h = r - 1 - log(r)`, `y = round(sqrt(a h))`, `e = round(exp(-a h))`, `c = round(erfcx(y)) * 0.5`,
  `eta = y * sqrt(2 / a)`, which is negated for x < a, and `i = 1 / a`. `S_k` is the polynomial of degree 17 in eta with
  the coefficients d(k, n) of DLMF 8.12.11 and 8.12.12, by Horner's rule with fma, and S that of degree 9 in i with the
  coefficients S_k, likewise. With `m = S / sqrt(a * 2 pi)`, P is `e * (c - m)` for x < a; else Q is `e * (c + m)`.
- 2^14 <= a elsewhere: P is 0 for x < a, else 1.
- x < 1.1 and a < 1.25, if `g = round(x^a / gamma(1 + a) - 1)` is at least -1/3 and x < 0.5, or if a <= x * 1.1 and
  x >= 0.5: let `s = 1 / (a + 20)`, and for n = 19, …, 1 `s = fma(-(x * (1 / (n + 1))), s, 1 / (a + n))`, in which
  1 / (n + 1) is a constant. Q is `fma((g + 1) * (a * x), s, -g)`.
- Elsewhere let f be, for a < 32, `round(x^a exp(-x) / gamma(1 + a))`, and else `e * p / sqrt(a * 2 pi)`, where p is the
  polynomial of degree 9 in i whose coefficients are those of 1 / gamma*(a), the inverse of DLMF 5.11.3's series, by
  Horner's rule with fma.
  - x < a or x < 1.1: P is f times the sum 1 + t_1 + t_2 + …, `t_n = t_(n - 1) * (x / (a + 1 + … + 1))`, which ends with
    the first term that is not above 2^-54 times the sum with it.
  - else Q is `f * a * F`, F being the continued fraction 1 / (x + 1 - a - (1 - a) / (x + 3 - a - 2 (2 - a) / …)), as a
    sum: `b_0 = x + 1 - a`, `F_0 = s_0 = D_0 = 1 / b_0`, then `b_i = b_(i - 1) + 2`, `v = (a - i) * i * D_(i - 1)`,
    `D_i = 1 / (v + b_i)`, `s_i = -(s_(i - 1) * (v * D_i))`, `F_i = F_(i - 1) + s_i`. It ends with the first |s_i| that
    is not above 2^-54 F_i.
*/

// In double.
struct IgammaDouble {
  template <class D, class V>
  REPDL_LANE V operator()(D d, V a, V x) const {
    return IncompleteGamma<false>(d, a, x);
  }
};

template <class V>
REPDL_LANE V Igamma(V a, V x) {
  return ViaDouble(IgammaDouble(), a, x);
}
