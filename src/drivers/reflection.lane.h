// SPDX-License-Identifier: MIT
// Householder's reflections, as in `geqrf` and `complex_geqrf`: what is done to one number, in lane words.

/// Squares that count as 0 where the largest number is near 1: what underflow takes from larger ones does no harm.
inline constexpr double kLeastSquare = 0x1p-800;

/// What becomes of the first number, which is real then; what those behind it are divided by; and the factor.
template <class Number>
struct Head {
  double first;
  Number divisor, tau;
  bool reflects;  // else the numbers stay as they are

  /// From the first number and the squares of those behind it. All squares but that of its real part together must be
  /// above `least`.
  static REPDL_LANE Head Of(const Number& x, double squares, double least) {
    squares = PlusImaginary(squares, x);
    Head head;
    head.reflects = !(squares <= least);
    head.first = RealPart(x);
    SetNumber(head.tau, 0.0);
    SetNumber(head.divisor, 1.0);
    if (head.reflects) head.Set(x, squares);
    return head;
  }

 private:
  static REPDL_LANE double PlusImaginary(double squares, double) { return squares; }
  static REPDL_LANE double PlusImaginary(double squares, const Complex& x) { return PlusSquares(squares, x.im); }

  REPDL_LANE void Set(double x, double squares) {
    const double size = Sqrt(Fma(x, x, squares));
    first = x < 0.0 ? size : Neg(size);
    SetReal(x, divisor, tau);
  }
  REPDL_LANE void Set(const Complex& x, double squares) {
    const double size = Sqrt(Fma(x.re, x.re, squares));
    first = x.re < 0.0 ? size : Neg(size);
    SetReal(x.re, divisor.re, tau.re);
    divisor.im = x.im;
    tau.im = Neg(Div(x.im, first));
  }
  REPDL_LANE void SetReal(double x, double& by, double& factor) const {
    factor = Div(Sub(first, x), first);
    by = Sub(x, first);
  }
};

/// 2^e for the exponent e of a number whose square double does not hold, at most 2^±1000; else 1.
REPDL_LANE double ScaleForSquares(double largest) {
  const int64_t exponent = (BitsOf(largest) >> 52) - 1023;  // of subnormals too small to matter which
  if (!(largest > 0.0) || exponent == 1024 || (exponent >= -480 && exponent <= 480)) return 1.0;
  return PowerOf2(exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent);
}
