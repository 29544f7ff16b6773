// SPDX-License-Identifier: MIT

/*! complex_log
Of `a + bi` in the last dimension, of size 2: the real part is `log(h)` with `h = hypot(a, b)`; for h between 1/2 and 2,
neither included, it is `log1p((l - 1) * (l + 1) + s * s) * 0.5`, with l the larger and s the smaller of |a| and |b|; for h
below 2^-1000 it is `log(hypot(a * 2^100, b * 2^100)) - c`, with c = 100 log(2) rounded to float64. The imaginary part is
`atan2(b, a)`. Each step is rounded to float64, and the parts in the end to the type of `input`.
*/
struct ComplexLog {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V one = Set(d, 1), half = Set(d, 0.5);
    const V size = RealHypot(d, a, b);
    const auto is_near = And(Gt(size, half), Lt(size, Set(d, 2)));
    real = RealLog(d, size);
    if (Any(d, is_near)) {
      const V larger = Max(Abs(a), Abs(b)), smaller = Min(Abs(a), Abs(b));
      const V off = Add(Mul(Sub(larger, one), Add(larger, one)), Mul(smaller, smaller));
      real = IfThenElse(is_near, Mul(RealLog1p(d, IfThenElseZero(is_near, off)), half), real);
    }
    // Of subnormal numbers hypot keeps few digits.
    const auto is_tiny = Lt(size, Rounded(d, 0x1p-1000));
    if (Any(d, is_tiny)) {
      const V scale = Set(d, 0x1p100);
      const V log = RealLog(d, RealHypot(d, Mul(a, scale), Mul(b, scale)));
      real = IfThenElse(is_tiny, Sub(log, Rounded(d, 0x1.1542457337d43p+6)), real);
    }
    imaginary = RealAtan2(d, b, a);
  }
};

/*! complex_log1p
`complex_log` of `(a + 1) + bi`; where |a| and |b| are below 1/4, the real part is `log1p(a * (a + 2) + b * b) * 0.5`.
*/
struct ComplexLog1p {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V quarter = Set(d, 0.25);
    const auto is_near = And(Lt(Abs(a), quarter), Lt(Abs(b), quarter));
    ComplexLog()(d, Add(a, Set(d, 1)), b, real, imaginary);
    if (Any(d, is_near)) {
      const V off = Add(Mul(a, Add(a, Set(d, 2))), Mul(b, b));
      real = IfThenElse(is_near, Mul(RealLog1p(d, IfThenElseZero(is_near, off)), Set(d, 0.5)), real);
    }
  }
};

/*! complex_log2
The parts of `complex_log`, each times 1 / log(2): that quotient and the products in float64.
*/
struct ComplexLog2 {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V factor = Rounded(d, 0x1.71547652b82fep+0);
    ComplexLog()(d, a, b, real, imaginary);
    real = Mul(real, factor);
    imaginary = Mul(imaginary, factor);
  }
};

/*! complex_log10
The parts of `complex_log`, each times 1 / log(10): that quotient and the products in float64.
*/
struct ComplexLog10 {
  template <class D, class V>
  REPDL_LANE void operator()(D d, V a, V b, V& real, V& imaginary) const {
    const V factor = Rounded(d, 0x1.bcb7b1526e50dp-2);
    ComplexLog()(d, a, b, real, imaginary);
    real = Mul(real, factor);
    imaginary = Mul(imaginary, factor);
  }
};

/*! complex_pow
`complex_exp` of the `complex_mul` of `exponent` with `complex_log` of `input`, the steps of each rounded to the type of
`input`. Of 0 it is 1 for an exponent of 0, else +0
where the real part of the exponent is above 0, else +inf. The operands are broadcast.
*/
struct ComplexPow {
  template <class D, class V>
  REPDL_LANE void operator()(D tag, V a, V b, V c, V d, V& real, V& imaginary) const {
    const V zero = Zero(tag), one = Set(tag, 1);
    const auto is_zero = And(Eq(a, zero), Eq(b, zero)), is_first = And(Eq(c, zero), Eq(d, zero));
    V log_real, log_imaginary, x, y;
    ComplexLog()(tag, IfThenElse(is_zero, one, a), IfThenZeroElse(is_zero, b), log_real, log_imaginary);
    ComplexMul()(tag, c, d, log_real, log_imaginary, x, y);
    ComplexExp()(tag, x, y, real, imaginary);
    const V of_zero = IfThenElse(is_first, one, IfThenZeroElse(Gt(c, zero), Inf(tag)));
    real = IfThenElse(is_zero, of_zero, real);
    imaginary = IfThenZeroElse(is_zero, imaginary);
  }
};
