// SPDX-License-Identifier: MIT
// What eigenvalues and eigenvectors of real and complex matrices share: the balance before, and what is done to vectors.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "drivers/pair_matrix_cpu-inl.h"
#include "drivers/spectral_cpu-inl.h"
#include "ops/eig/eig_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// What the rows and columns of a matrix, or of its real and its imaginary part, were exchanged and multiplied by.
struct Balance {
  using Parts = std::span<const Rows>;

  int64_t n, lo, hi;
  int64_t* with;   // row i below lo and above hi was exchanged with row with[i]
  int64_t* power;  // of 2, which columns were multiplied by

  static Balance New(Scratch& scratch, int64_t n) {
    return {n, 0, n - 1, scratch.Get<int64_t>(n), scratch.Get<int64_t>(n)};
  }

  void Run(Parts parts) {
    for (int64_t i = 0; i < n; ++i) power[i] = 0;
    for (int64_t i = hi; lo < hi && i >= lo;) {
      if (!IsAlone(parts, i, [&](const Rows& a, int64_t j) { return a[i][j]; })) {
        --i;
        continue;
      }
      Exchange(parts, i, hi);
      i = --hi;
    }
    for (int64_t j = lo; lo < hi && j <= hi;) {
      if (!IsAlone(parts, j, [&](const Rows& a, int64_t i) { return a[i][j]; })) {
        ++j;
        continue;
      }
      Exchange(parts, j, lo);
      j = ++lo;
    }
    bool changed = lo < hi;
    for (int pass = 0; pass < 32 && changed; ++pass) {
      changed = false;
      for (int64_t i = lo; i <= hi; ++i) changed |= Even(parts, i);
    }
  }

  /// Of a vector of the balanced matrix, or of a part of one, that of the matrix.
  void Undo(double* v) const {
    for (int64_t i = lo; i <= hi; ++i) v[i] = v[i] * PowerOf2(power[i]);
    for (int64_t i = lo - 1; i >= 0; --i) std::swap(v[i], v[with[i]]);
    for (int64_t i = hi + 1; i < n; ++i) std::swap(v[i], v[with[i]]);
  }

 private:
  template <class At>
  bool IsAlone(Parts parts, int64_t i, const At& at) const {
    for (const Rows& a : parts) {
      for (int64_t j = lo; j <= hi; ++j) {
        if (j != i && at(a, j) != 0) return false;
      }
    }
    return true;
  }

  void Exchange(Parts parts, int64_t i, int64_t end) const {
    with[end] = i;
    if (i == end) return;
    for (const Rows& a : parts) {
      SwapRows(a[i], a[end], n);
      for (int64_t row = 0; row < n; ++row) SwapNumbers(a[row], i, end);
    }
  }

  /// Whether row and column i differed so much that they were multiplied.
  bool Even(Parts parts, int64_t i) const {
    const TagOf<double> d;
    VecOf<double> columns = Zero(d), rows = Zero(d);
    for (int64_t j = lo; j <= hi; ++j) {
      for (const Rows& a : parts) {
        const VecOf<double> below = Set(d, a[j][i]), beside = Set(d, a[i][j]);
        columns = Fma(below, below, columns);
        rows = Fma(beside, beside, rows);
      }
    }
    double c = Sqrt(hn::GetLane(columns)), r = Sqrt(hn::GetLane(rows));
    if (c == 0 || r == 0) return false;
    const double sum = c + r;
    constexpr int64_t kMost = 200;
    int64_t k = 0;
    for (; c < r * 0.5 && power[i] + k < kMost; ++k) c = c * 2.0, r = r * 0.5;
    for (; c * 0.5 >= r && power[i] + k > -kMost; --k) c = c * 0.5, r = r * 2.0;
    if (k == 0 || !(c + r < 0.95 * sum)) return false;
    power[i] += k;
    const double column = PowerOf2(k), row = PowerOf2(-k);
    for (const Rows& a : parts) {
      for (int64_t j = 0; j < n; ++j) a[j][i] = a[j][i] * column;
      for (int64_t j = 0; j < n; ++j) a[i][j] = a[i][j] * row;
    }
    return true;
  }
};

/// v of length 1 and, so that its largest number is positive, by a factor of size 1.
inline void Normalize(int64_t n, const PairRow& v) {
  double squares = 0, largest = -1;
  int64_t place = 0;
  for (int64_t i = 0; i < n; ++i) {
    squares = Fma(v.im[i], v.im[i], Fma(v.re[i], v.re[i], squares));
    const double size = v.re[i] * v.re[i] + v.im[i] * v.im[i];
    if (size > largest) largest = size, place = i;
  }
  const double length = Sqrt(squares), top = Sqrt(largest);
  const double c = v.re[place] / top, s = v.im[place] / top;
  for (int64_t i = 0; i < n; ++i) {
    const double re = v.re[i], im = v.im[i];
    v.re[i] = (re * c + im * s) / length + 0.0;
    v.im[i] = (im * c - re * s) / length + 0.0;
  }
  v.Put(place, {top / length, 0});
}

/// Pairs of numbers, n of them a row; the imaginary parts times `sign`.
inline void PutPairs(int64_t n, const PairRow& v, double sign, double* pairs) {
  for (int64_t i = 0; i < n; ++i) pairs[2 * i] = v.re[i], pairs[2 * i + 1] = v.im[i] * sign + 0.0;
}

/// Fills all results with NaN.
inline int64_t Fail(int64_t info, int64_t n, double* values, const Rows& vectors) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  std::fill_n(values, 2 * n, kNaN);
  for (int64_t i = 0; i < n && vectors.data != nullptr; ++i) std::fill_n(vectors[i], 2 * n, kNaN);
  return info;
}

/// Calls solve(a, n, values, vectors), which gives the info, for each matrix; `vectors` has no memory where they are not
/// wanted. The steps of one are n^3 times so many.
template <class Matrix, class Function>
void ForEachMatrix(const EigArgs& args, int64_t steps, const Function& solve) {
  const int64_t n = args.n;
  ForMatrices(args.batch, steps * n * n * n, [&](int64_t matrix) {
    if (n == 0) {
      args.info[matrix] = 0;
      return;
    }
    Scratch scratch;
    const auto a = NewRowsOf<Matrix>(scratch, n, n);
    LoadRows(args.input, matrix, n, n, a);
    double* const values = scratch.Get<double>(2 * n);
    const Rows vectors = args.vectors == nullptr ? Rows{nullptr, 0} : NewRows(scratch, n, 2 * n);
    args.info[matrix] = solve(a, n, values, vectors);
    StoreRows(Rows{values, 2 * n}, 1, 2 * n, args.input.dtype, args.values, matrix * 2 * n);
    if (args.vectors != nullptr) StoreRows(vectors, n, 2 * n, args.input.dtype, args.vectors, matrix * 2 * n * n);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
