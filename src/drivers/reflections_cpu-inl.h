// SPDX-License-Identifier: MIT
// Householder's reflections of many vectors at once, and QR by them.
#pragma once

#include <algorithm>
#include <cmath>

#include "drivers/pair_matrix_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

inline constexpr int kVecs = 4;
/// Numbers in a row of a block. It does not reach the bits.
inline constexpr int64_t kWidth = kVecs * kLanesOf<double>;

/// m numbers of each of kWidth vectors: number i of all, then number i + 1. Or m pairs of each of kWidth / 2 vectors: the
/// real parts of number i, then the imaginary ones.
struct Block {
  double* data;

  double* operator[](int64_t i) const { return data + i * kWidth; }
};

using Lanes = VecElementOf<double>;

HWY_INLINE void Read(const double* from, Lanes (&to)[kVecs]) {
#pragma GCC unroll 4
  for (int v = 0; v < kVecs; ++v) to[v] = Load(TagOf<double>(), from + v * kLanesOf<double>);
}

#include "drivers/reflection.lane.h"

/// A vector of numbers of a row of a block, or of pairs, and what a reflection does with them.
template <class Number>
struct WideOf;

// The constructors are written down because those that the compiler adds lack the instructions of a target.
template <>
struct WideOf<double> {
  static constexpr int kCount = kVecs;  // in a row
  Lanes re;

  HWY_INLINE WideOf() {}
  HWY_INLINE WideOf(Lanes numbers) : re(numbers) {}

  static HWY_INLINE WideOf From(const double* at) { return {Load(TagOf<double>(), at)}; }
  static HWY_INLINE WideOf FromRow(const double* row, int64_t count) { return {LoadN(row, count)}; }
  HWY_INLINE void ToRow(double* row, int64_t count) const { StoreN<double>(re, row, count); }
  static HWY_INLINE WideOf Of(double x) { return {Set(TagOf<double>(), x)}; }
  HWY_INLINE void To(double* at) const { Store(re, TagOf<double>(), at); }
  /// Where the mask is not set.
  HWY_INLINE void ToUnless(const MaskOf<double>& mask, double* at) const {
    Store(IfThenElse(mask, Load(TagOf<double>(), at), VecOf<double>(re)), TagOf<double>(), at);
  }
  HWY_INLINE WideOf Times(const WideOf& x) const { return {Mul(re, x.re)}; }
  HWY_INLINE WideOf Minus(const WideOf& x) const { return {Sub(re, x.re)}; }
  HWY_INLINE WideOf Plus(const WideOf& x) const { return {Add(re, x.re)}; }
  /// x - a b, where the numbers are -a.
  HWY_INLINE WideOf PlusProduct(const WideOf& b, const WideOf& x) const { return {Fma<VecOf<double>>(re, b.re, x.re)}; }
  /// x + conj(a) b
  HWY_INLINE WideOf PlusConjugate(const WideOf& b, const WideOf& x) const { return PlusProduct(b, x); }
};

template <>
struct WideOf<Complex> {
  static constexpr int kCount = kVecs / 2;
  Lanes re, im;

  HWY_INLINE WideOf() {}
  HWY_INLINE WideOf(Lanes real, Lanes imaginary) : re(real), im(imaginary) {}

  static HWY_INLINE WideOf From(const double* at) {
    return {Load(TagOf<double>(), at), Load(TagOf<double>(), at + kWidth / 2)};
  }
  static HWY_INLINE WideOf FromRow(const PairRow& row, int64_t count) {
    return {LoadN(row.re, count), LoadN(row.im, count)};
  }
  HWY_INLINE void ToRow(const PairRow& row, int64_t count) const {
    StoreN<double>(re, row.re, count);
    StoreN<double>(im, row.im, count);
  }
  static HWY_INLINE WideOf Of(const Complex& x) { return {Set(TagOf<double>(), x.re), Set(TagOf<double>(), x.im)}; }
  HWY_INLINE void To(double* at) const {
    Store(re, TagOf<double>(), at);
    Store(im, TagOf<double>(), at + kWidth / 2);
  }
  HWY_INLINE void ToUnless(const MaskOf<double>& mask, double* at) const {
    WideOf<double>{re}.ToUnless(mask, at);
    WideOf<double>{im}.ToUnless(mask, at + kWidth / 2);
  }
  HWY_INLINE WideOf Times(const WideOf& x) const {
    VecOf<double> a, b;
    ComplexMul()(TagOf<double>(), VecOf<double>(re), VecOf<double>(im), VecOf<double>(x.re), VecOf<double>(x.im), a, b);
    return {a, b};
  }
  HWY_INLINE WideOf Minus(const WideOf& x) const { return {Sub(re, x.re), Sub(im, x.im)}; }
  HWY_INLINE WideOf Plus(const WideOf& x) const { return {Add(re, x.re), Add(im, x.im)}; }
  HWY_INLINE WideOf PlusProduct(const WideOf& b, const WideOf& x) const {
    VecOf<double> of_re = x.re, of_im = x.im;
    TakeInProduct<VecOf<double>>(re, im, b.re, b.im, of_re, of_im);
    return {of_re, of_im};
  }
  HWY_INLINE WideOf PlusConjugate(const WideOf& b, const WideOf& x) const {
    VecOf<double> of_re = x.re, of_im = x.im;
    TakeInConjugate<VecOf<double>>(re, im, b.re, b.im, of_re, of_im);
    return {of_re, of_im};
  }
};

/// The numbers of a matrix: double or Complex.
template <class Matrix>
using NumberOf = std::conditional_t<std::is_same_v<Matrix, Rows>, double, Complex>;
template <class Matrix>
using RowOf = decltype(std::declval<Matrix>()[0]);
/// Vectors that are reflected at once, a lane each.
template <class Matrix>
inline constexpr int64_t kVectorsOf = WideOf<NumberOf<Matrix>>::kCount * kLanesOf<double>;

/// `count` of the reflections, of which number j has v_i = vectors[j][i] for i > j: from `first` down, or if adjoint up,
/// with the conjugates of tau.
template <class Matrix, class Row>
void Reflect(const Matrix& vectors, const Row& tau, bool adjoint, int64_t first, int64_t count, int64_t m,
             const Block& x) {
  using Wide = WideOf<NumberOf<Matrix>>;
  constexpr int kCount = Wide::kCount;
  if (count == 0) return;
  const int64_t step = adjoint ? 1 : -1;
  Wide w[kCount], t[kCount];
  const auto row = [&](int64_t i, int q) HWY_ATTR { return x[i] + q * kLanesOf<double>; };
#pragma GCC unroll 4
  for (int q = 0; q < kCount; ++q) w[q] = Wide::From(row(first, q));
  RowOf<Matrix> vn = vectors[first];
  for (int64_t i = first + 1; i < m; ++i) {
    const Wide v = Wide::Of(vn[i]);
#pragma GCC unroll 4
    for (int q = 0; q < kCount; ++q) w[q] = v.PlusConjugate(Wide::From(row(i, q)), w[q]);
  }
  for (int64_t n = 0, j = first; n < count; ++n, j += step) {
    const Wide factor = Wide::Of(adjoint ? Conjugate(tau[j]) : tau[j]);
#pragma GCC unroll 4
    for (int q = 0; q < kCount; ++q) t[q] = factor.Times(w[q]);
    // The reflection, and on the way the w of the next one.
    const int64_t next = n + 1 == count ? j : j + step;
    const RowOf<Matrix> vj = vn;
    vn = vectors[next];
    if (next < j) {
#pragma GCC unroll 4
      for (int q = 0; q < kCount; ++q) w[q] = Wide::From(row(next, q));
    }
    for (int64_t i = j; i < std::min(m, j + 2); ++i) {
#pragma GCC unroll 4
      for (int q = 0; q < kCount; ++q) {
        const Wide old = Wide::From(row(i, q));
        const Wide value = i == j ? old.Minus(t[q]) : Wide::Of(Negated(vj[i])).PlusProduct(t[q], old);
        value.To(row(i, q));
        if (i == next) w[q] = value;
        if (i > next) w[q] = Wide::Of(vn[i]).PlusConjugate(value, w[q]);
      }
    }
    for (int64_t i = j + 2; i < m; ++i) {
      const Wide v = Wide::Of(Negated(vj[i])), times = Wide::Of(vn[i]);
#pragma GCC unroll 4
      for (int q = 0; q < kCount; ++q) {
        const Wide value = v.PlusProduct(t[q], Wide::From(row(i, q)));
        value.To(row(i, q));
        w[q] = times.PlusConjugate(value, w[q]);
      }
    }
  }
}

/// A block as rows of a matrix.
template <class Matrix>
Matrix AsMatrix(const Block& x) {
  if constexpr (std::is_same_v<Matrix, Rows>) return {x.data, kWidth};
  if constexpr (!std::is_same_v<Matrix, Rows>) return {x.data, kWidth, kWidth / 2};
}

template <class Matrix>
struct QrOf {
  using Number = NumberOf<Matrix>;
  using Wide = WideOf<Number>;
  static constexpr int64_t kColumns = kVectorsOf<Matrix>;  // of a block
  static constexpr int kParts = static_cast<int>(kWidth / kColumns);

  int64_t m, n;
  double* data;    // blocks of columns
  Matrix vectors;  // the reflections
  RowOf<Matrix> tau;
  int64_t* order;
  double least;  // a column with squares of no more than this below the diagonal has no reflection

  Block At(int64_t block) const { return {data + block * m * kWidth}; }
  /// A part of a number, the real one first.
  double& Part(int64_t i, int64_t j, int part) const { return At(j / kColumns)[i][j % kColumns + part * kColumns]; }
  Number At(int64_t i, int64_t j) const {
    if constexpr (kParts == 1) return Part(i, j, 0);
    if constexpr (kParts == 2) return {Part(i, j, 0), Part(i, j, 1)};
  }
  void Put(int64_t i, int64_t j, const Number& x) const {
    PutNumber(AsMatrix<Matrix>(At(j / kColumns))[i], j % kColumns, x);
  }
  int64_t num_blocks() const { return (n + kColumns - 1) / kColumns; }

  /// The columns from a matrix that LoadRows reads.
  void Load(const Matrices& from, int64_t matrix) const {
    for (int64_t block = 0; block < num_blocks(); ++block) {
      const int64_t columns = std::min(kColumns, n - block * kColumns);
      Matrices part = from;
      DispatchReal(part.dtype, [&]<class T>() {
        part.data = static_cast<const T*>(part.data) + block * kColumns * part.col_stride;
      });
      if (columns < kColumns) std::fill_n(At(block).data, m * kWidth, 0.0);
      LoadRows(part, matrix, m, columns, AsMatrix<Matrix>(At(block)));
    }
  }

  void Run(bool pivot) const {
    const int64_t steps = std::min(m, n);
    if (pivot) return RunPivoted(steps);
    for (int64_t begin = 0; begin < steps; begin += kColumns) {
      const int64_t end = std::min(steps, begin + kColumns);
      for (int64_t j = begin; j < end; ++j) {
        MakeReflection(j);
        ReflectBehind(j);
      }
      ForBlocks(end / kColumns + (end % kColumns != 0 ? 1 : 0), end - begin,
                [&](int64_t block) { Reflect(vectors, tau, true, begin, end - begin, m, At(block)); });
    }
  }

  /// The same where double may not hold the squares of numbers.
  void RunScaled(bool pivot) const {
    Scratch scratch;
    double* const scales = scratch.Get<double>(n);
    Scale(pivot, scales);
    Run(pivot);
    ScaleBack(scales);
  }

 private:
  /// Divides the columns, or with pivot all of them alike, by the scales, powers of two, which it writes.
  void Scale(bool pivot, double* scales) const {
    for (int64_t j = 0; j < n; ++j) {
      double largest = 0;
      for (int64_t i = 0; i < m; ++i) {
        for (int part = 0; part < kParts; ++part) {
          largest = LargestPart(largest, Part(i, j, part));  // which a NaN leaves
        }
      }
      scales[j] = largest;
    }
    if (pivot && n > 0) std::fill_n(scales, n, *std::max_element(scales, scales + n));
    for (int64_t j = 0; j < n; ++j) {
      scales[j] = ScaleForSquares(scales[j]);
      if (scales[j] == 1) continue;
      for (int64_t i = 0; i < m; ++i) {
        for (int part = 0; part < kParts; ++part) Part(i, j, part) *= 1 / scales[j];
      }
    }
  }

  /// Multiplies the columns of R by the scales.
  void ScaleBack(const double* scales) const {
    for (int64_t j = 0; j < n; ++j) {
      if (scales[j] == 1) continue;
      for (int64_t i = 0; i < std::min(m, j + 1); ++i) {
        for (int part = 0; part < kParts; ++part) Part(i, j, part) *= scales[j];
      }
    }
  }

  template <class Body>
  void ForBlocks(int64_t first, int64_t count, const Body& body) const {
    const int64_t grain = 50000 / (m * kWidth * count + 1) + 1;
    ParallelRanges(num_blocks() - first, grain, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) body(first + block);
    });
  }

  /// Of column j.
  void MakeReflection(int64_t j) const {
    const auto v = vectors[j];
    double below = 0;
    for (int64_t i = j + 1; i < m; ++i) {
      const Number x = At(i, j);
      PutNumber(v, i, x);
      below = PlusSquares(below, x);
    }
    const auto head = Head<Number>::Of(At(j, j), below, least);
    Part(j, j, 0) = head.first;
    if constexpr (kParts == 2) Part(j, j, 1) = 0;
    PutNumber(tau, j, head.tau);
    if (head.reflects) DivideRow(head.divisor, v, j + 1, m);
  }

  /// The columns of its block behind column j.
  void ReflectBehind(int64_t j) const {
    const TagOf<double> d;
    const Block x = At(j / kColumns);
    const int64_t behind = j % kColumns + 1;
    const int first = static_cast<int>(behind / kLanesOf<double>);  // the first vector with a column behind
    const auto v = vectors[j];
    const Wide factor = Wide::Of(Conjugate(tau[j]));
    for (int q = first; q < Wide::kCount; ++q) {
      const int64_t kept = std::max<int64_t>(0, behind - q * kLanesOf<double>);
      double* const from = x.data + q * kLanesOf<double>;
      Wide w = Wide::From(from + j * kWidth);
      for (int64_t i = j + 1; i < m; ++i) w = Wide::Of(v[i]).PlusConjugate(Wide::From(from + i * kWidth), w);
      const auto mask = hn::FirstN(d, static_cast<size_t>(kept));
      const Wide t = factor.Times(w);
      Wide::From(from + j * kWidth).Minus(t).ToUnless(mask, from + j * kWidth);
      for (int64_t i = j + 1; i < m; ++i) {
        double* const at = from + i * kWidth;
        Wide::Of(Negated(v[i])).PlusProduct(t, Wide::From(at)).ToUnless(mask, at);
      }
    }
  }

  void RunPivoted(int64_t steps) const {
    Scratch scratch;
    double* const sums = scratch.Get<double>(num_blocks() * kColumns);
    for (int64_t j = 0; j < steps; ++j) {
      ForBlocks(j / kColumns, 1, [&](int64_t block) { SumSquares(At(block), j, sums + block * kColumns); });
      int64_t chosen = j;
      for (int64_t c = j + 1; c < n && sums[chosen] == sums[chosen]; ++c) {
        if (!(sums[c] <= sums[chosen])) chosen = c;
      }
      if (chosen != j) Exchange(j, chosen);
      MakeReflection(j);
      ReflectBehind(j);
      ForBlocks(j / kColumns + 1, 1, [&](int64_t block) { Reflect(vectors, tau, true, j, 1, m, At(block)); });
    }
  }

  void SumSquares(const Block& x, int64_t j, double* sums) const {
    constexpr int kCount = Wide::kCount;
    Lanes sum[kCount], row[kVecs];
    for (int q = 0; q < kCount; ++q) sum[q] = Zero(TagOf<double>());
    for (int64_t i = j; i < m; ++i) {
      Read(x[i], row);
      for (int q = 0; q < kVecs; ++q) sum[q % kCount] = Fma<VecOf<double>>(row[q], row[q], sum[q % kCount]);
    }
    for (int q = 0; q < kCount; ++q) Store(sum[q], TagOf<double>(), sums + q * kLanesOf<double>);
  }

  void Exchange(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < m; ++i) {
      for (int part = 0; part < kParts; ++part) std::swap(Part(i, a, part), Part(i, b, part));
    }
    std::swap(order[a], order[b]);
  }
};

using Qr = QrOf<Rows>;

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
