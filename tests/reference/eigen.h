// SPDX-License-Identifier: MIT
// What eigenvalues and eigenvectors of real and complex matrices share: the balance before, and what is done to vectors.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "complex_matrices.h"
#include "matrices.h"

namespace repdl::reference {

struct Balanced {
  int64_t lo, hi;
  std::vector<std::pair<int64_t, int64_t>> exchanges;
  std::vector<int> powers;

  /// Of a vector of the balanced matrix that of the matrix.
  void Undo(Pairs& v) const {
    for (size_t i = 0; i < v.size(); ++i) v[i] = {std::ldexp(v[i].re, powers[i]), std::ldexp(v[i].im, powers[i])};
    for (auto pair = exchanges.rbegin(); pair != exchanges.rend(); ++pair) std::swap(v[pair->first], v[pair->second]);
  }
};

inline bool IsZero(double x) { return x == 0; }
inline bool IsZero(Complex x) { return x.re == 0 && x.im == 0; }
inline void TakeIn(double x, double& squares) { squares = std::fma(x, x, squares); }
inline void TakeIn(Complex x, double& squares) {
  TakeIn(x.re, squares);
  TakeIn(x.im, squares);
}
inline double Shift(double x, int by) { return std::ldexp(x, by); }
inline Complex Shift(Complex x, int by) { return {std::ldexp(x.re, by), std::ldexp(x.im, by)}; }

/// Of a Square or a Grid.
template <class Matrix>
Balanced Balance(Matrix& a) {
  Balanced b{0, a.rows - 1, {}, std::vector<int>(a.rows)};
  const auto alone = [&](int64_t i, bool row) {
    for (int64_t j = b.lo; j <= b.hi; ++j) {
      if (j != i && !IsZero(row ? a(i, j) : a(j, i))) return false;
    }
    return true;
  };
  const auto exchange = [&](int64_t i, int64_t j) {
    for (int64_t k = 0; k < a.rows; ++k) std::swap(a(i, k), a(j, k));
    for (int64_t k = 0; k < a.rows; ++k) std::swap(a(k, i), a(k, j));
    b.exchanges.emplace_back(i, j);
  };
  for (bool row : {true, false}) {
    while (b.lo < b.hi) {
      int64_t found = -1;
      for (int64_t i = b.lo; i <= b.hi; ++i) {
        if (alone(i, row) && (row || found < 0)) found = i;
      }
      if (found < 0) break;
      exchange(found, row ? b.hi : b.lo);
      row ? --b.hi : ++b.lo;
    }
  }
  for (int pass = 0; pass < 32 && b.lo < b.hi; ++pass) {
    bool changed = false;
    for (int64_t i = b.lo; i <= b.hi; ++i) {
      double cc = 0, rr = 0;
      for (int64_t j = b.lo; j <= b.hi; ++j) {
        TakeIn(a(j, i), cc);
        TakeIn(a(i, j), rr);
      }
      double c = std::sqrt(cc), r = std::sqrt(rr);
      if (c == 0 || r == 0) continue;
      const double sum = c + r;
      int k = 0;
      while (c < r / 2 && b.powers[i] + k < 200) ++k, c *= 2, r /= 2;
      while (c / 2 >= r && b.powers[i] + k > -200) --k, c /= 2, r *= 2;
      if (!(c + r < 0.95 * sum)) continue;
      changed = true;
      b.powers[i] += k;
      for (int64_t j = 0; j < a.rows; ++j) a(j, i) = Shift(a(j, i), k);
      for (int64_t j = 0; j < a.rows; ++j) a(i, j) = Shift(a(i, j), -k);
    }
    if (!changed) break;
  }
  return b;
}

inline void Normalize(Pairs& v) {
  double squares = 0, largest = -1;
  size_t place = 0;
  for (size_t i = 0; i < v.size(); ++i) {
    squares = std::fma(v[i].re, v[i].re, squares);
    squares = std::fma(v[i].im, v[i].im, squares);
    const double re = v[i].re * v[i].re, im = v[i].im * v[i].im;
    if (re + im > largest) largest = re + im, place = i;
  }
  const double r = std::sqrt(squares), f = std::sqrt(largest), c = v[place].re / f, s = v[place].im / f;
  for (Complex& x : v) {
    const double rc = x.re * c, is = x.im * s, ic = x.im * c, rs = x.re * s;
    x = {(rc + is) / r + 0.0, (ic - rs) / r + 0.0};
  }
  v[place] = {f / r, 0};
}

struct Eigen {
  Pairs values;
  std::vector<Pairs> vectors;
  int64_t info = 0;

  static Eigen Lost(int64_t n, int64_t info) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Pairs nans(n, {nan, nan});
    return {nans, std::vector<Pairs>(n, nans), info};
  }
};

/// The results of eigen(matrix) of all.
template <class T, class Matrix, class Function>
Results ResultsOf(const Arguments& args, const std::vector<Matrix>& matrices, const Function& eigen,
                  bool with_vectors) {
  Numbers<T> values, vectors;
  Indices info;
  for (const Matrix& a : matrices) {
    const Eigen found = eigen(a);
    for (Complex x : found.values) Put(x, values);
    for (const Pairs& vector : found.vectors) {
      for (Complex x : vector) Put(x, vectors);
    }
    info.push_back(found.info);
  }
  Results results;
  Append(results, values, args.OutputShape());
  if (with_vectors) Append(results, vectors, args.OutputShape(1));
  Append(results, info, args.OutputShape(with_vectors ? 2 : 1));
  return results;
}

}  // namespace repdl::reference
