// SPDX-License-Identifier: MIT
// What eigenvalues and singular values share: scales, reflections, rotations, and the vectors that go through them.
#pragma once

#include <algorithm>
#include <bit>

#include "drivers/reflections_cpu-inl.h"
#include "drivers/sum_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "drivers/spectral.lane.h"

/// Of the numbers of a matrix.
inline Scale ScaleOf(const Rows& a, int64_t rows, int64_t cols) {
  int64_t top = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) top = Scale::Larger(top, a[i][j]);
  }
  return Scale::Of(top);
}
inline void Divide(const Rows& a, int64_t rows, int64_t cols, const Scale& scale) {
  const double first = PowerOf2(-scale.half), second = PowerOf2(scale.half - scale.exponent);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) a[i][j] = a[i][j] * first * second;
  }
}

inline void CopyNumbers(const double* from, int64_t n, double* to) { std::copy_n(from, n, to); }
inline void CopyNumbers(const PairRow& from, int64_t n, const PairRow& to) {
  std::copy_n(from.re, n, to.re);
  std::copy_n(from.im, n, to.im);
}

/// That of x, of n > 0 numbers: makes v, another row, whose first number is 1, and tau; returns what becomes of x[0].
template <class Row>
double MakeReflection(Row x, int64_t n, Row v, Row tau) {
  double squares = 0;
  for (int64_t i = 1; i < n; ++i) squares = PlusSquares(squares, x[i]);
  using Number = std::remove_cvref_t<decltype(x[0])>;
  const auto head = Head<Number>::Of(x[0], squares, kLeastSquare);
  PutNumber(tau, 0, head.tau);
  CopyNumbers(x + 1, n - 1, v + 1);
  Number one;
  SetNumber(one, 1.0);
  PutNumber(v, 0, one);
  if (head.reflects) DivideRow(head.divisor, v, 1, n);
  return head.first;
}

inline constexpr int kInnerVecs = static_cast<int>(16 / kLanesOf<double>);

inline double FoldLanes(const WideOf<double>& x) { return FoldVector(TagOf<double>(), VecOf<double>(x.re)); }
inline Complex FoldLanes(const WideOf<Complex>& x) {
  return {FoldVector(TagOf<double>(), VecOf<double>(x.re)), FoldVector(TagOf<double>(), VecOf<double>(x.im))};
}

/// x = x - factor t, and then Inner(x, u) of `svd`.
template <class Number, class Row>
Number SubtractAndInner(const Number& factor, const Row& t, const Row& u, const Row& x, int64_t n) {
  using Wide = WideOf<Number>;
  const Wide times = Wide::Of(Negated(factor));
  Wide acc[kInnerVecs];
#pragma GCC unroll 16
  for (int v = 0; v < kInnerVecs; ++v) acc[v] = Wide::Of(Number{});
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
#pragma GCC unroll 16
    for (int v = 0; v < kInnerVecs; ++v) {
      const int64_t at = i + v * kLanesOf<double>;
      const Wide value =
          times.PlusProduct(Wide::FromRow(t + at, kLanesOf<double>), Wide::FromRow(x + at, kLanesOf<double>));
      value.ToRow(x + at, kLanesOf<double>);
      acc[v] = value.PlusProduct(Wide::FromRow(u + at, kLanesOf<double>), acc[v]);
    }
  }
  for (int v = 0; v < kInnerVecs && i + v * kLanesOf<double> < n; ++v) {
    // The zeros behind the end change at most the sign of a zero, which reaches nothing.
    const int64_t at = i + v * kLanesOf<double>, count = n - at;
    const Wide value = times.PlusProduct(Wide::FromRow(t + at, count), Wide::FromRow(x + at, count));
    value.ToRow(x + at, count);
    acc[v] = value.PlusProduct(Wide::FromRow(u + at, count), acc[v]);
  }
#pragma GCC unroll 8
  for (int h = kInnerVecs / 2; h >= 1; h /= 2) {
#pragma GCC unroll 8
    for (int v = 0; v < h; ++v) acc[v] = acc[v].Plus(acc[v + h]);
  }
  return FoldLanes(acc[0]);
}

inline Rotations NewRotations(Scratch& scratch, int64_t n) {
  const int64_t capacity = Rotations::CapacityFor(n);
  return {capacity, scratch.Get<double>(2 * capacity), scratch.Get<int64_t>(2 * capacity), 0, 0};
}

/// The rows of an orthogonal matrix n x n, a lane each, in blocks; of complex numbers the conjugates of a unitary one.
template <class Matrix>
struct LanewiseOf {
  static constexpr int64_t kRows = kVectorsOf<Matrix>;

  int64_t n;
  double* data;

  static LanewiseOf Identity(Scratch& scratch, int64_t n) {
    const LanewiseOf rows{n, scratch.Get<double>((n + kRows - 1) / kRows * kWidth * n)};
    std::fill_n(rows.data, rows.num_blocks() * kWidth * n, 0.0);
    for (int64_t i = 0; i < n; ++i) rows.At(i / kRows)[i][i % kRows] = 1.0;
    return rows;
  }

  int64_t num_blocks() const { return (n + kRows - 1) / kRows; }
  Block At(int64_t block) const { return {data + block * n * kWidth}; }

  /// Column j of the matrix, the parts of it that lie `shift` behind the numbers of its blocks.
  void Column(int64_t j, double* out, int64_t shift = 0) const {
    for (int64_t r = 0; r < n; r += kRows) std::copy_n(At(r / kRows)[j] + shift, std::min(kRows, n - r), out + r);
  }
  void Column(int64_t j, const PairRow& out) const {
    Column(j, out.re);
    Column(j, out.im, kRows);
  }

  /// Of each row the numbers from `shift` on, by `count` reflections of n - shift numbers.
  template <class Row>
  void ReflectAll(const Matrix& vectors, const Row& tau, int64_t count, int64_t shift) const {
    if (count <= 0) return;
    ForBlocks(2 * count * n, [&](const Block& x) { Reflect(vectors, tau, true, 0, count, n - shift, {x[shift]}); });
  }

  void Rotate(const Rotations& rotations) const {
    ForBlocks(4 * rotations.used, [&](const Block& x) HWY_ATTR {
      const double* angle = rotations.angles;
      for (int64_t sweep = 0; sweep < rotations.num_sweeps; ++sweep) {
        const int64_t count = rotations.sweeps[2 * sweep + 1];
        RotateBlock({x[rotations.sweeps[2 * sweep]]}, count, angle);
        angle += 2 * count;
      }
    });
  }

 private:
  template <class Body>
  void ForBlocks(int64_t work, const Body& body) const {
    ParallelRanges(num_blocks(), 50000 / (work * kWidth + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) body(At(block));
    });
  }

  static void RotateBlock(const Block& x, int64_t count, const double* angle) {
    const TagOf<double> d;
    Lanes carried[kVecs], row[kVecs];
    Read(x[0], carried);
    for (int64_t i = 0; i < count; ++i, angle += 2) {
      const VecOf<double> c = Set(d, angle[0]), s = Set(d, angle[1]);
      Read(x[i + 1], row);
#pragma GCC unroll 4
      for (int q = 0; q < kVecs; ++q) {
        VecOf<double> u = carried[q], v = row[q];
        RotatePair(c, s, u, v);
        Store(u, d, x[i] + q * kLanesOf<double>);
        carried[q] = v;
      }
    }
#pragma GCC unroll 4
    for (int q = 0; q < kVecs; ++q) {
      const VecOf<double> u = carried[q];
      Store(u, d, x[count] + q * kLanesOf<double>);
    }
  }
};

using Lanewise = LanewiseOf<Rows>;

/// As real numbers, in rows.
inline Rows PartsOf(const Rows& a) { return a; }
inline Rows PartsOf(const PairRows& a) { return {a.data, a.parts}; }
template <class Matrix>
inline constexpr int64_t kPartsOf = std::is_same_v<Matrix, Rows> ? 1 : 2;

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
