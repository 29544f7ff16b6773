// SPDX-License-Identifier: MIT
// Matrices of complex numbers for the templates of matrix_cpu-inl.h.
#pragma once

#include <cstring>

#include "drivers/matrix_cpu-inl.h"
#include "numerics/complex_highway-inl.h"
#include "numerics/lanes/one-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "drivers/number.lane.h"

inline Complex operator-(const Complex& x, const Complex& y) { return Minus(x, y); }
inline Complex operator*(const Complex& x, const Complex& y) { return Times(x, y); }
inline Complex operator/(const Complex& x, const Complex& y) { return Quotient(x, y); }

/// A row of pairs, the real parts apart from the imaginary ones.
struct PairRow {
  double *re, *im;

  PairRow operator+(int64_t by) const { return {re + by, im + by}; }
  Complex operator[](int64_t i) const { return {re[i], im[i]}; }
  void Put(int64_t i, const Complex& x) const { re[i] = x.re, im[i] = x.im; }
};

/// A matrix of pairs whose rows lie `stride` apart, and the imaginary parts of each `parts` behind the real ones.
struct PairRows {
  double* data;
  int64_t stride, parts;

  PairRow operator[](int64_t i) const { return {data + i * stride, data + i * stride + parts}; }
  Rows Real() const { return {data, stride}; }
  Rows Imaginary() const { return {data + parts, stride}; }
};

template <class Matrix>
Matrix NewRowsOf(Scratch& scratch, int64_t rows, int64_t cols) {
  if constexpr (std::is_same_v<Matrix, Rows>) {
    return NewRows(scratch, rows, cols);
  } else {
    const Rows both = NewRows(scratch, 2 * rows, cols);
    return {both.data, 2 * both.stride, both.stride};
  }
}

inline void LoadRows(const Matrices& from, int64_t matrix, int64_t rows, int64_t cols, const PairRows& to) {
  Matrices imaginary = from;
  DispatchReal(from.dtype, [&]<class T>() { imaginary.data = static_cast<const T*>(from.data) + from.part_stride; });
  LoadRows(from, matrix, rows, cols, to.Real());
  LoadRows(imaginary, matrix, rows, cols, to.Imaginary());
}

/// Writes rows x cols pairs side by side; `at` counts pairs.
inline void StoreRows(const PairRows& from, int64_t rows, int64_t cols, DType dtype, void* to, int64_t at) {
  DispatchReal(dtype, [&]<class T>() {
    T* out = static_cast<T*>(to) + 2 * at;
    for (int64_t i = 0; i < rows; ++i, out += 2 * cols) {
      const PairRow row = from[i];
      for (int64_t j = 0; j < cols; ++j) {
        out[2 * j] = static_cast<T>(row.re[j]);
        out[2 * j + 1] = static_cast<T>(row.im[j]);
      }
    }
  });
}

inline void StoreColumns(const PairRows& from, int64_t rows, int64_t cols, DType dtype, void* to, int64_t at) {
  DispatchReal(dtype, [&]<class T>() {
    T* const out = static_cast<T*>(to) + 2 * at;
    constexpr int64_t kSquare = 32;
    for (int64_t i0 = 0; i0 < rows; i0 += kSquare) {
      for (int64_t j = 0; j < cols; ++j) {
        for (int64_t i = i0; i < std::min(rows, i0 + kSquare); ++i) {
          const Complex x = from[i][j];
          out[2 * (j * rows + i)] = static_cast<T>(x.re);
          out[2 * (j * rows + i) + 1] = static_cast<T>(x.im);
        }
      }
    }
  });
}

/// y[i] = y[i] - x z by four steps, for i in [begin, end), where x or z is the factor and the other one x[i].
template <bool kFactorFirst>
void SubtractProducts(const Complex& factor, const PairRow& x, const PairRow& y, int64_t begin, int64_t end) {
  const TagOf<double> d;
  const VecOf<double> re = Set(d, -factor.re), im = Set(d, -factor.im);
  ForVectors<double>(end - begin, [&](int64_t at, int64_t count) HWY_ATTR {
    const int64_t i = begin + at;
    const VecOf<double> a = LoadN(x.re + i, count), b = LoadN(x.im + i, count);
    VecOf<double> of_re = LoadN(y.re + i, count), of_im = LoadN(y.im + i, count);
    if constexpr (kFactorFirst) TakeInProduct(re, im, a, b, of_re, of_im);
    if constexpr (!kFactorFirst) TakeInProduct(a, b, re, im, of_re, of_im);
    StoreN<double>(of_re, y.re + i, count);
    StoreN<double>(of_im, y.im + i, count);
  });
}

inline void SubtractRow(const Complex& factor, const PairRow& x, const PairRow& y, int64_t begin, int64_t end) {
  SubtractProducts<true>(factor, x, y, begin, end);
}
inline void SubtractColumn(const PairRow& x, const Complex& factor, const PairRow& y, int64_t begin, int64_t end) {
  SubtractProducts<false>(factor, x, y, begin, end);
}

/// y[i] = y[i] / divisor for i in [begin, end).
inline void DivideRow(const Complex& divisor, const PairRow& y, int64_t begin, int64_t end) {
  const TagOf<double> d;
  const VecOf<double> c = Set(d, divisor.re), e = Set(d, divisor.im);
  ForVectors<double>(end - begin, [&](int64_t at, int64_t count) HWY_ATTR {
    const int64_t i = begin + at;
    VecOf<double> re, im;
    ComplexDiv()(d, LoadN(y.re + i, count), LoadN(y.im + i, count), c, e, re, im);
    StoreN<double>(re, y.re + i, count);
    StoreN<double>(im, y.im + i, count);
  });
}

inline void DivideNumber(const PairRow& x, int64_t i, const Complex& by) { x.Put(i, x[i] / by); }
inline void PutNumber(const PairRow& row, int64_t i, const Complex& x) { row.Put(i, x); }
inline void SwapNumbers(const PairRow& x, int64_t i, int64_t j) {
  std::swap(x.re[i], x.re[j]);
  std::swap(x.im[i], x.im[j]);
}
inline void SwapRows(const PairRow& x, const PairRow& y, int64_t n) {
  std::swap_ranges(x.re, x.re + n, y.re);
  std::swap_ranges(x.im, x.im + n, y.im);
}
inline PairRows Behind(const PairRows& x, int64_t row, int64_t col) { return {x[row].re + col, x.stride, x.parts}; }
inline PairRows Reversed(const PairRows& x, int64_t n) { return {x[n - 1].re, -x.stride, x.parts}; }

/// c -= a b, by the steps of SubtractRow for k ascending: products of real matrices with twice as many terms, of which
/// each pair of rows of b makes two.
inline void SubtractRows(int64_t m, int64_t n, int64_t k, const PairRow& a, int64_t a_row_stride, int64_t a_col_stride,
                         const PairRows& b, const PairRows& c, bool upper = false) {
  Scratch scratch;
  const Rows left = NewRows(scratch, m, 2 * k), right = NewRows(scratch, 2 * k, n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      const Complex x = a[i * a_row_stride + j * a_col_stride];
      left[i][2 * j] = x.re, left[i][2 * j + 1] = x.im;
    }
  }
  for (int64_t j = 0; j < k; ++j) {
    const PairRow row = b[j];
    std::copy_n(row.re, n, right[2 * j]);
    for (int64_t i = 0; i < n; ++i) right[2 * j + 1][i] = -row.im[i];
  }
  SubtractRows(m, n, 2 * k, left.data, left.stride, 1, right, c.Real(), upper);
  for (int64_t j = 0; j < k; ++j) {
    const PairRow row = b[j];
    std::copy_n(row.im, n, right[2 * j]);
    std::copy_n(row.re, n, right[2 * j + 1]);
  }
  SubtractRows(m, n, 2 * k, left.data, left.stride, 1, right, c.Imaginary(), upper);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
