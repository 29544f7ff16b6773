// SPDX-License-Identifier: MIT
// What lu does to single numbers, in lane words; the contracts stand in lu.h. Number k of a diagonal is diagonal(k).

/// -1 where an odd number of rows was exchanged.
REPDL_LANE double SignOf(const int64_t* pivots, int64_t n) {
  double sign = 1.0;
  for (int64_t k = 0; k < n; ++k) sign = pivots[k] == k + 1 ? sign : Neg(sign);
  return sign;
}

/// The first factor is a sign, which multiplies both parts of what comes next.
REPDL_LANE double TakeInFactor(double product, double x, bool /*is_first*/) { return Mul(product, x); }
REPDL_LANE Complex TakeInFactor(const Complex& product, const Complex& x, bool is_first) {
  return is_first ? Times(x, product.re) : Times(product, x);
}

/// The product of `sign` and the diagonal.
template <class Diagonal>
REPDL_LANE auto DeterminantOf(const Diagonal& diagonal, int64_t n, double sign) {
  std::remove_cvref_t<decltype(diagonal(0))> product;
  SetNumber(product, sign);
  for (int64_t k = 0; k < n; ++k) product = TakeInFactor(product, diagonal(k), k == 0);
  return product;
}

template <class Number>
struct SignedLog {
  Number sign;
  double log;
};

REPDL_LANE double SgnOf(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }
REPDL_LANE Complex SgnOf(const Complex& x) {
  Complex sgn;
  PartsOfOne<ComplexSgn>(sgn.re, sgn.im, x.re, x.im);
  return sgn;
}
REPDL_LANE double LengthOf(double x) { return Abs(x); }
REPDL_LANE double LengthOf(const Complex& x) { return HypotOf(x); }

/// The sum of the logarithms of the diagonal, and its sign times that of the exchanges.
template <class Diagonal>
REPDL_LANE auto SignedLogOf(const Diagonal& diagonal, int64_t n, double sign) {
  SignedLog<std::remove_cvref_t<decltype(diagonal(0))>> result;
  SetNumber(result.sign, sign);
  result.log = 0.0;
  for (int64_t k = 0; k < n; ++k) {
    const auto number = diagonal(k);
    result.sign = TakeInFactor(result.sign, SgnOf(number), k == 0);
    result.log = Add(result.log, OfOne<LogDouble>(LengthOf(number)));
  }
  return result;
}
