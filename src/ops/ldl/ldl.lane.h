// SPDX-License-Identifier: MIT
// What ldl does to single numbers, in lane words; the contracts stand in ldl.h.

/// (1 + sqrt(17)) / 8, which bounds the growth of the factors.
inline constexpr double kBound = 0x1.47e0f66afed07p-1;

/// The row that is exchanged, with row k or, in a block of two, with the one behind it.
struct Pivot {
  int64_t row;
  bool two;
};

/// That of column k, of which c is the largest size below the diagonal, in row r. diagonal(i) is the size of number i of
/// the diagonal, and beside(r) the largest of row and column r.
template <class Diagonal, class Beside>
REPDL_LANE Pivot PivotOf(int64_t k, double c, int64_t r, const Diagonal& diagonal, const Beside& beside) {
  const double of_k = diagonal(k);
  if (of_k >= Mul(kBound, c)) return {k, false};
  const double s = beside(r);
  if (of_k >= Mul(Mul(kBound, c), Div(c, s))) return {k, false};
  return {r, !(diagonal(r) >= Mul(kBound, s))};
}

/// What a column k and the one behind it become in a block of two, whose numbers are a and, below the diagonal, b.
template <class Number>
struct BlockOfTwo {
  Number e, f, t;

  REPDL_LANE BlockOfTwo(const Number& first, const Number& b, const Number& second) {
    Number one;
    SetNumber(one, 1.0);
    e = Quotient(second, b), f = Quotient(first, b);
    t = Quotient(Quotient(one, Minus(Times(e, f), one)), b);
  }
  REPDL_LANE Number FirstOf(const Number& x, const Number& y) const { return Times(Minus(Times(e, x), y), t); }
  REPDL_LANE Number SecondOf(const Number& x, const Number& y) const { return Times(Minus(Times(f, y), x), t); }
};

/// The same of a Hermitian matrix.
struct HermitianBlockOfTwo {
  double e, f, t;
  Complex g;

  REPDL_LANE HermitianBlockOfTwo(const Complex& first, const Complex& b, const Complex& second) {
    const double size = HypotOf(b);
    e = Div(second.re, size), f = Div(first.re, size);
    t = Div(Div(1.0, Sub(Mul(e, f), 1.0)), size);
    g = Quotient(b, size);
  }
  REPDL_LANE Complex FirstOf(const Complex& x, const Complex& y) const {
    return Times(Minus(Times(x, e), Times(g, y)), t);
  }
  REPDL_LANE Complex SecondOf(const Complex& x, const Complex& y) const {
    return Times(Minus(Times(y, f), Times(Conjugate(g), x)), t);
  }
};

/// The unknowns g and h of a block of two, which are right sides before. c is the number below the diagonal, and `turned`
/// that above it.
template <class Number>
REPDL_LANE void SolveBlockOfTwo(const Number& first, const Number& c, const Number& turned, const Number& second,
                                Number& x, Number& y) {
  Number one;
  SetNumber(one, 1.0);
  const Number f = Quotient(first, turned), e = Quotient(second, c), determinant = Minus(Times(f, e), one);
  const Number g = Quotient(x, turned), h = Quotient(y, c);
  x = Quotient(Minus(Times(e, g), h), determinant);
  y = Quotient(Minus(Times(f, h), g), determinant);
}

/// Whether the block at place k, the first of it, is of two.
REPDL_LANE bool IsTwo(int64_t pivot, int64_t k, int64_t n) { return pivot > n && k + 1 < n; }
/// The place with which place k was exchanged.
REPDL_LANE int64_t PartnerOf(int64_t pivot, int64_t k, int64_t n) {
  return pivot == 0 ? k : (pivot > n ? pivot - n : pivot) - 1;
}
