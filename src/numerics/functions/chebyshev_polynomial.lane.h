// SPDX-License-Identifier: MIT
/*! chebyshev_polynomial_t
Chebyshev's polynomial T of the degree n at x. As all orthogonal polynomials here it is not correctly rounded, but made of steps of
float64 that are; of float32 operands, too, and then rounded to float32. The degree is what of n is left of its fraction, at most 2^40:
below 0 the value is +0, of a NaN n it is NaN. From `P_0 = 1` and P_1 a recurrence gives `P_(k + 1)` of `P_k` and `P_(k - 1)`; a NaN
stays, and so does every value of more than 2^17 steps become. A step is `+ - * /`, in the order of the parentheses and else from the
left; `round(…)` is correctly rounded as a whole (tested, not proven).

It is 1 at 1, and at -1 1, or -1 if n is odd. Else, of n > 6 and |x| < 1, it is `round(cos(n * round(acos(x))))`; else `P_1 = x`,
`P_(k + 1) = (x + x) * P_k - P_(k - 1)`.
*/

/*! chebyshev_polynomial_u
U, as chebyshev_polynomial_t: n + 1 at 1; at -1 the same, negated if n is odd; of n > 8 and |x| < 1, with a = round(acos(x)),
`round(sin((n + 1) * a)) / round(sin(a))`; else by T's recurrence from `P_1 = x + x`.
*/

/*! chebyshev_polynomial_v
V, as chebyshev_polynomial_t: 1 at 1; at -1 n + n + 1, negated if n is odd; of n > 8 and |x| < 1, with a = round(acos(x)),
`round(cos((n + 0.5) * a)) / round(cos(a * 0.5))`; else by T's recurrence from `P_1 = x + x - 1`.
*/

/*! chebyshev_polynomial_w
W, as chebyshev_polynomial_t: n + n + 1 at 1; at -1 1, negated if n is odd; of n > 8 and |x| < 1, with a = round(acos(x)),
`round(sin((n + 0.5) * a)) / round(sin(a * 0.5))`; else by T's recurrence from `P_1 = x + x + 1`.
*/

/*! shifted_chebyshev_polynomial_t
chebyshev_polynomial_t of `y = x + x - 1`: at x = 1 and x = 0 as that at 1 and -1; of n > 6 and |y| < 1 by the angle of y; else
`P_(k + 1) = (y + y) * P_k - P_(k - 1)`, from the P_1 of y.
*/

/*! shifted_chebyshev_polynomial_u
As shifted_chebyshev_polynomial_t, of chebyshev_polynomial_u.
*/

/*! shifted_chebyshev_polynomial_v
As shifted_chebyshev_polynomial_t, of chebyshev_polynomial_v.
*/

/*! shifted_chebyshev_polynomial_w
As shifted_chebyshev_polynomial_t, of chebyshev_polynomial_w.
*/

/// A kind is the polynomial in [-1, 1]: its value of degree 1, those at 1 and -1 (of an even n), and that of the angle.
template <class Kind, bool kShifted>
struct ChebyshevPolynomial {
  static constexpr bool kHasEnds = true, kHasClosed = true;
  static constexpr double kLimit = kShifted ? 6.0 : Kind::kLimit;

  template <class D, class V>
  static REPDL_LANE V Place(D d, V x) {
    if constexpr (kShifted) {
      return Sub(Add(x, x), Set(d, 1.0));
    } else {
      return x;
    }
  }
  template <class D, class V>
  static REPDL_LANE V First(D d, V x) {
    return Kind::First(d, Place(d, x));
  }
  template <class D, class V>
  static REPDL_LANE V Step(D d, V, V x, V now, V before) {
    const V y = Place(d, x);
    return Sub(Mul(Add(y, y), now), before);
  }
  template <class D, class V>
  static REPDL_LANE V Ends(D d, V n, V x) {
    const V infinity = Inf(d), lower = NegatedOfOdd(d, Kind::Left(d, n), n);
    const V other = IfThenElse(Eq(x, Set(d, kShifted ? 0.0 : -1.0)), lower, Sub(infinity, infinity));
    return IfThenElse(Eq(x, Set(d, 1.0)), Kind::Right(d, n), other);
  }
  template <class D, class V>
  static REPDL_LANE V Closed(D d, V n, V x) {
    const V y = Place(d, x), infinity = Inf(d);
    const auto inside = Lt(Abs(y), Set(d, 1.0));
    const V angle = AcosDouble()(d, IfThenElse(inside, y, Set(d, 0.5)));
    return IfThenElse(inside, Kind::OfAngle(d, n, angle), Sub(infinity, infinity));
  }
};

struct ChebyshevT {
  static constexpr double kLimit = 6.0;
  template <class D, class V>
  static REPDL_LANE V First(D, V x) {
    return x;
  }
  template <class D, class V>
  static REPDL_LANE V Right(D d, V) {
    return Set(d, 1.0);
  }
  template <class D, class V>
  static REPDL_LANE V Left(D d, V) {
    return Set(d, 1.0);
  }
  template <class D, class V>
  static REPDL_LANE V OfAngle(D d, V n, V a) {
    return CosDouble()(d, Mul(n, a));
  }
};

struct ChebyshevU {
  static constexpr double kLimit = 8.0;
  template <class D, class V>
  static REPDL_LANE V First(D, V x) {
    return Add(x, x);
  }
  template <class D, class V>
  static REPDL_LANE V Right(D d, V n) {
    return Add(n, Set(d, 1.0));
  }
  template <class D, class V>
  static REPDL_LANE V Left(D d, V n) {
    return Add(n, Set(d, 1.0));
  }
  template <class D, class V>
  static REPDL_LANE V OfAngle(D d, V n, V a) {
    return Div(SinDouble()(d, Mul(Add(n, Set(d, 1.0)), a)), SinDouble()(d, a));
  }
};

struct ChebyshevV {
  static constexpr double kLimit = 8.0;
  template <class D, class V>
  static REPDL_LANE V First(D d, V x) {
    return Sub(Add(x, x), Set(d, 1.0));
  }
  template <class D, class V>
  static REPDL_LANE V Right(D d, V) {
    return Set(d, 1.0);
  }
  template <class D, class V>
  static REPDL_LANE V Left(D d, V n) {
    return Add(Add(n, n), Set(d, 1.0));
  }
  template <class D, class V>
  static REPDL_LANE V OfAngle(D d, V n, V a) {
    const V half = Set(d, 0.5);
    return Div(CosDouble()(d, Mul(Add(n, half), a)), CosDouble()(d, Mul(a, half)));
  }
};

struct ChebyshevW {
  static constexpr double kLimit = 8.0;
  template <class D, class V>
  static REPDL_LANE V First(D d, V x) {
    return Add(Add(x, x), Set(d, 1.0));
  }
  template <class D, class V>
  static REPDL_LANE V Right(D d, V n) {
    return Add(Add(n, n), Set(d, 1.0));
  }
  template <class D, class V>
  static REPDL_LANE V Left(D d, V) {
    return Set(d, 1.0);
  }
  template <class D, class V>
  static REPDL_LANE V OfAngle(D d, V n, V a) {
    const V half = Set(d, 0.5);
    return Div(SinDouble()(d, Mul(Add(n, half), a)), SinDouble()(d, Mul(a, half)));
  }
};

/// The polynomial as a function: of doubles, and of floats in doubles.
#define REPDL_POLYNOMIAL(Function, ...)                           \
  struct Function##Double : OrthogonalPolynomial<__VA_ARGS__> {}; \
  template <class V>                                              \
  REPDL_LANE V Function(V x, V n) {                               \
    return ViaDouble(Function##Double(), x, n);                   \
  }
REPDL_POLYNOMIAL(ChebyshevPolynomialT, ChebyshevPolynomial<ChebyshevT, false>)
REPDL_POLYNOMIAL(ChebyshevPolynomialU, ChebyshevPolynomial<ChebyshevU, false>)
REPDL_POLYNOMIAL(ChebyshevPolynomialV, ChebyshevPolynomial<ChebyshevV, false>)
REPDL_POLYNOMIAL(ChebyshevPolynomialW, ChebyshevPolynomial<ChebyshevW, false>)
REPDL_POLYNOMIAL(ShiftedChebyshevPolynomialT, ChebyshevPolynomial<ChebyshevT, true>)
REPDL_POLYNOMIAL(ShiftedChebyshevPolynomialU, ChebyshevPolynomial<ChebyshevU, true>)
REPDL_POLYNOMIAL(ShiftedChebyshevPolynomialV, ChebyshevPolynomial<ChebyshevV, true>)
REPDL_POLYNOMIAL(ShiftedChebyshevPolynomialW, ChebyshevPolynomial<ChebyshevW, true>)
