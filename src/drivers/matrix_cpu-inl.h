// SPDX-License-Identifier: MIT
// What kernels of linear algebra share: matrices as doubles in scratch memory, and steps by whole rows of them.
#pragma once

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/chain.h"
#include "drivers/matrices.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Rows that are worked on one by one; more go through SubtractProduct. It does not reach the bits.
inline constexpr int64_t kFewRows = 8;

/// A matrix of doubles whose rows lie `stride` apart.
struct Rows {
  double* data;
  int64_t stride;

  double* operator[](int64_t i) const { return data + i * stride; }
};

/// Rows that do not meet in the same set of a cache.
inline Rows NewRows(Scratch& scratch, int64_t rows, int64_t cols) {
  const int64_t stride = (cols + 7) / 8 * 8 + (cols >= 64 ? 8 : 0);
  return {scratch.Get<double>(rows * stride), stride};
}

template <class T>
void LoadRowsAs(const Matrices& from, int64_t matrix, int64_t rows, int64_t cols, const Rows& to) {
  if (rows == 0 || cols == 0) return;  // there may be no data to add a step to
  const T* const data = static_cast<const T*>(from.data) + matrix * from.step;
  if (from.col_stride == 1) {
    for (int64_t i = 0; i < rows; ++i) {
      const T* const row = data + i * from.row_stride;
      double* const out = to[i];
      for (int64_t j = 0; j < cols; ++j) out[j] = row[j];
    }
    return;
  }
  // In squares, of which both sides stay in the cache.
  constexpr int64_t kSquare = 32;
  for (int64_t i0 = 0; i0 < rows; i0 += kSquare) {
    for (int64_t j0 = 0; j0 < cols; j0 += kSquare) {
      const int64_t j1 = std::min(cols, j0 + kSquare);
      for (int64_t i = i0; i < std::min(rows, i0 + kSquare); ++i) {
        const T* const row = data + i * from.row_stride;
        for (int64_t j = j0; j < j1; ++j) to[i][j] = row[j * from.col_stride];
      }
    }
  }
}

/// Reads matrix number `matrix`, rows x cols, widened.
inline void LoadRows(const Matrices& from, int64_t matrix, int64_t rows, int64_t cols, const Rows& to) {
  DispatchReal(from.dtype, [&]<class T>() { LoadRowsAs<T>(from, matrix, rows, cols, to); });
}

/// Writes rows x cols numbers side by side, rounded once.
inline void StoreRows(const Rows& from, int64_t rows, int64_t cols, DType dtype, void* to, int64_t at) {
  DispatchReal(dtype, [&]<class T>() {
    T* out = static_cast<T*>(to) + at;
    for (int64_t i = 0; i < rows; ++i, out += cols) {
      for (int64_t j = 0; j < cols; ++j) out[j] = static_cast<T>(from[i][j]);
    }
  });
}

/// The transpose: cols x rows numbers.
inline void StoreColumns(const Rows& from, int64_t rows, int64_t cols, DType dtype, void* to, int64_t at) {
  DispatchReal(dtype, [&]<class T>() {
    T* const out = static_cast<T*>(to) + at;
    constexpr int64_t kSquare = 32;
    for (int64_t j0 = 0; j0 < cols; j0 += kSquare) {
      for (int64_t i0 = 0; i0 < rows; i0 += kSquare) {
        const int64_t i1 = std::min(rows, i0 + kSquare);
        for (int64_t j = j0; j < std::min(cols, j0 + kSquare); ++j) {
          for (int64_t i = i0; i < i1; ++i) out[j * rows + i] = static_cast<T>(from[i][j]);
        }
      }
    }
  });
}

/// y[i] = fma(-factor, x[i], y[i]) for i in [begin, end).
HWY_INLINE void SubtractRow(double factor, const double* x, double* y, int64_t begin, int64_t end) {
  const TagOf<double> d;
  const VecOf<double> times = Set(d, -factor);
  ForVectors<double>(end - begin, [&](int64_t i, int64_t count) HWY_ATTR {
    const double* const from = x + begin + i;
    double* const to = y + begin + i;
    StoreN<double>(Fma(times, LoadN(from, count), LoadN(to, count)), to, count);
  });
}

/// y[i] = y[i] / divisor for i in [begin, end).
HWY_INLINE void DivideRow(double divisor, double* y, int64_t begin, int64_t end) {
  const TagOf<double> d;
  const VecOf<double> by = Set(d, divisor);
  ForVectors<double>(end - begin, [&](int64_t i, int64_t count) HWY_ATTR {
    StoreN<double>(Div(LoadN(y + begin + i, count), by), y + begin + i, count);
  });
}

/// c[i, j] = fma(-a[i, k], b[k, j], c[i, j]), as in ChainArgs, of the first n numbers of rows.
inline void SubtractRows(int64_t m, int64_t n, int64_t k, const double* a, int64_t a_row_stride, int64_t a_col_stride,
                         const Rows& b, const Rows& c, bool upper = false) {
  SubtractProduct({m, n, k, a, a_row_stride, a_col_stride, b.data, b.stride, c.data, c.stride, upper});
}

/// The matrix without the first rows and columns.
inline Rows Behind(const Rows& x, int64_t row, int64_t col) { return {x[row] + col, x.stride}; }

/// The same as SubtractRow, where the numbers of the row are the first factors.
HWY_INLINE void SubtractColumn(const double* x, double factor, double* y, int64_t begin, int64_t end) {
  SubtractRow(factor, x, y, begin, end);
}

inline void PutNumber(double* row, int64_t i, double x) { row[i] = x; }
inline void SwapNumbers(double* x, int64_t i, int64_t j) { std::swap(x[i], x[j]); }
inline void SwapRows(double* x, double* y, int64_t n) { std::swap_ranges(x, x + n, y); }
inline void DivideNumber(double* x, int64_t i, double by) { x[i] = x[i] / by; }

/// A triangular matrix, lower; an upper one is a lower one that is read from its end. `Row` is a row of a matrix, of which
/// number 0 is the first of the triangle.
template <class Row>
struct TriangleOf {
  Row data;
  int64_t row_stride, col_stride;
  bool unit;  // the diagonal counts as ones and is not read

  Row From(int64_t i, int64_t k) const { return data + (i * row_stride + k * col_stride); }
  auto At(int64_t i, int64_t k) const { return From(i, k)[0]; }
  static TriangleOf Upper(Row data, int64_t row_stride, int64_t col_stride, int64_t n, bool unit) {
    return {data + (n - 1) * (row_stride + col_stride), -row_stride, -col_stride, unit};
  }
};

/// X of A X = B into rows [begin, end) of x, m wide, which hold B: x_i = Chain(b_i; a_ik, x_k) / a_ii, from the terms
/// k >= begin on.
template <class Row, class Matrix>
void Substitute(const TriangleOf<Row>& a, int64_t begin, int64_t end, const Matrix& x, int64_t m) {
  if (end - begin > kFewRows) {
    const int64_t middle = begin + (end - begin + 2 * kFewRows - 1) / (2 * kFewRows) * kFewRows;
    Substitute(a, begin, middle, x, m);
    SubtractRows(end - middle, m, middle - begin, a.From(middle, begin), a.row_stride, a.col_stride,
                 Behind(x, begin, 0), Behind(x, middle, 0));
    Substitute(a, middle, end, x, m);
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t k = begin; k < i; ++k) SubtractRow(a.At(i, k), x[k], x[i], 0, m);
    if (!a.unit) DivideRow(a.At(i, i), x[i], 0, m);
  }
}

/// Right sides that are solved one after the other, with a lane for each unknown; of more, a lane for each right side. It
/// does not reach the bits.
inline constexpr int64_t kFewSides = 6;

/// The same for each row x of m, of a matrix whose columns these are.
template <class Matrix>
void SubstituteEach(const Matrix& columns, int64_t n, bool upper, bool unit, const Matrix& x, int64_t m) {
  for (int64_t side = 0; side < m; ++side) {
    const auto y = x[side];
    for (int64_t step = 0; step < n; ++step) {
      const int64_t k = upper ? n - 1 - step : step;
      if (!unit) DivideNumber(y, k, columns[k][k]);
      SubtractColumn(columns[k], y[k], y, upper ? 0 : k + 1, upper ? k : n);
    }
  }
}

/// solve(begin, end) for ranges that cover the columns [0, m) of right sides, each of which is solved for itself: one
/// for each thread, as each packs the matrix anew. `work` is about the number of multiplications of a column.
template <class Solve>
void ForColumns(int64_t m, int64_t work, const Solve& solve) {
  const int64_t share = (m + GetNumThreads() - 1) / GetNumThreads();
  // Ten µs of work are worth a fork, and a column alone is none for vectors.
  ParallelRanges(m, std::max({share, int64_t{16}, 150000 / (work + 1) + 1}), solve);
}

/// The rows in reverse.
inline Rows Reversed(const Rows& x, int64_t n) { return {x.data + (n - 1) * x.stride, -x.stride}; }

/// run(n) for each matrix of a batch: several at a time, or else one that may use all threads. `work` is about the number
/// of multiplications of one.
template <class Run>
void ForMatrices(int64_t batch, int64_t work, const Run& run) {
  if (batch == 1) return run(0);
  ParallelRanges(batch, 20000 / (work + 500) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) run(n);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
