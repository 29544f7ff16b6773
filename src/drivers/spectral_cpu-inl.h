// SPDX-License-Identifier: MIT
// What eigenvalues and singular values share: scales, reflections, rotations, and the vectors that go through them.
#pragma once

#include <algorithm>
#include <bit>

#include "drivers/reflections_cpu-inl.h"
#include "drivers/sum_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Squares that count as 0 where the largest number is near 1: what underflow takes from larger ones does no harm.
inline constexpr double kLeastSquare = 0x1p-800;
inline constexpr double kLeast = 0x1p-400;
/// Sweeps for each value before the search is given up.
inline constexpr int64_t kMaxSweeps = 40;

inline double RootOf(double x) { return hn::GetLane(Sqrt(Set(TagOf<double>(), x))); }

inline double FmaOf(double a, double b, double c) {
  const TagOf<double> d;
  return hn::GetLane(Fma(Set(d, a), Set(d, b), Set(d, c)));
}

/// The power of 2 above the numbers of a matrix, and whether they are finite.
struct Scale {
  int64_t exponent = 0, half = 0;
  bool finite = true;

  static double PowerOf2(int64_t k) { return std::bit_cast<double>(static_cast<uint64_t>(1023 + k) << 52); }

  static Scale Of(const Rows& a, int64_t rows, int64_t cols) {
    uint64_t top = 0;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) top = std::max(top, std::bit_cast<uint64_t>(a[i][j]) << 1 >> 1);
    }
    Scale scale;
    scale.finite = top < uint64_t{0x7ff} << 52;
    if (top == 0 || !scale.finite) return scale;
    const bool is_small = top < uint64_t{1} << 52;
    if (is_small) top = std::bit_cast<uint64_t>(std::bit_cast<double>(top) * 0x1p54);
    scale.exponent = static_cast<int64_t>(top >> 52) - 1022 - (is_small ? 54 : 0);
    scale.half = scale.exponent >> 1;
    return scale;
  }

  /// Divides by the power, in two steps that are powers themselves.
  void Divide(const Rows& a, int64_t rows, int64_t cols) const {
    const double first = PowerOf2(-half), second = PowerOf2(half - exponent);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) a[i][j] = a[i][j] * first * second;
    }
  }

  double Times(double x) const { return x * PowerOf2(half) * PowerOf2(exponent - half); }
};

/// That of x, of n > 0 numbers, as in `geqrf`: makes v, whose first number is 1, and tau; returns what becomes of x[0].
inline double MakeReflection(const double* x, int64_t n, double* v, double* tau) {
  const TagOf<double> d;
  VecOf<double> squares = Zero(d);
  for (int64_t i = 1; i < n; ++i) {
    const VecOf<double> value = Set(d, x[i]);
    squares = Fma(value, value, squares);
  }
  const double below = hn::GetLane(squares), first = x[0];
  if (v != x) std::copy(x + 1, x + n, v + 1);
  v[0] = 1.0;
  if (below <= kLeastSquare) {
    *tau = 0;
    return first;
  }
  const Head head = Head::Of(first, below);
  *tau = head.tau;
  DivideRow(head.divisor, v, 1, n);
  return head.first;
}

/// The same as in `complex_geqrf`; the result is real. v is another row than x.
inline double MakeReflection(const PairRow& x, int64_t n, const PairRow& v, const PairRow& tau) {
  const TagOf<double> d;
  VecOf<double> squares = Zero(d);
  const auto add = [&](double part) HWY_ATTR { squares = Fma(Set(d, part), Set(d, part), squares); };
  for (int64_t i = 1; i < n; ++i) {
    add(x.re[i]);
    add(x.im[i]);
  }
  const Complex first = x[0];
  add(first.im);
  std::copy(x.re + 1, x.re + n, v.re + 1);
  std::copy(x.im + 1, x.im + n, v.im + 1);
  v.Put(0, {1.0, 0.0});
  if (hn::GetLane(squares) <= kLeastSquare) {
    tau.Put(0, {});
    return first.re;
  }
  const Head head = Head::Of(first.re, hn::GetLane(squares));
  tau.Put(0, {head.tau, -(first.im / head.first)});
  DivideRow(Complex{head.divisor, first.im}, v, 1, n);
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

/// (c x + s z, c z - s x) = (r, 0).
struct Rotation {
  double c, s, r;

  static Rotation Of(double x, double z) {
    if (__builtin_fabs(z) < kLeast) return {1.0, 0.0, x};
    const double r = RootOf(x * x + z * z);
    return {x / r, z / r, r};
  }
};

/// What an element of e may be off from 0 anywhere: 2^-60 times the largest of d and e.
inline double LeastOf(int64_t n, const double* d, const double* e) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, __builtin_fabs(d[i]));
  for (int64_t i = 0; i + 1 < n; ++i) largest = std::max(largest, __builtin_fabs(e[i]));
  return largest * 0x1p-60;
}

/// The first row of the block of d and e that ends with row m; the number of e before it counts as 0 and becomes 0.
inline int64_t BeginOfBlock(const double* d, double* e, int64_t m, double least) {
  int64_t l = m;
  for (; l > 0; --l) {
    const double size = __builtin_fabs(e[l - 1]);
    if (size <= least || size <= 0x1p-53 * (__builtin_fabs(d[l - 1]) + __builtin_fabs(d[l]))) {
      e[l - 1] = 0;
      break;
    }
  }
  return l;
}

/// Rotations of neighbours that wait, in sweeps: one of (first, first + 1), of (first + 1, first + 2), and so on.
struct Rotations {
  int64_t capacity, used = 0, num_sweeps = 0;
  double* angles;   // c, s
  int64_t* sweeps;  // first, count

  static Rotations New(Scratch& scratch, int64_t n) {
    const int64_t capacity = std::max(n, std::min<int64_t>(4 * n * n, 32768));
    return {capacity, 0, 0, scratch.Get<double>(2 * capacity), scratch.Get<int64_t>(2 * capacity)};
  }

  bool HasRoomFor(int64_t count) const { return used + count <= capacity; }
  void Begin(int64_t first, int64_t count) {
    sweeps[2 * num_sweeps] = first;
    sweeps[2 * num_sweeps + 1] = count;
    ++num_sweeps;
  }
  void Add(const Rotation& rotation) {
    angles[2 * used] = rotation.c;
    angles[2 * used + 1] = rotation.s;
    ++used;
  }
  void Clear() { used = num_sweeps = 0; }
};

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
        const VecOf<double> u = carried[q], v = row[q];
        Store(Fma(c, u, Mul(s, v)), d, x[i] + q * kLanesOf<double>);
        carried[q] = Fma(c, v, Neg(Mul(s, u)));
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

/// -1 if the first of the largest numbers is negative.
inline double SignOfLargest(const double* x, int64_t n) {
  double size = 0, sign = 1;
  for (int64_t i = 0; i < n; ++i) {
    if (__builtin_fabs(x[i]) > size) size = __builtin_fabs(x[i]), sign = x[i] < 0 ? -1.0 : 1.0;
  }
  return sign;
}

/// No zero becomes -0.
inline void Times(double sign, double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * sign + 0.0;
}

/// What makes the first of the largest numbers real and positive, `size`, and its place.
struct Phase {
  int64_t place = 0;
  double size;
  Complex p;

  static Phase Of(const PairRow& x, int64_t n) {
    Phase phase;
    double square = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double of_x = FmaOf(x.re[i], x.re[i], x.im[i] * x.im[i]);
      if (of_x > square) square = of_x, phase.place = i;
    }
    const Complex largest = x[phase.place];
    phase.size = RootOf(square);
    phase.p = {largest.re / phase.size, -(largest.im / phase.size)};
    return phase;
  }
};

/// No part that is zero becomes -0.
inline void Times(const Complex& factor, const PairRow& x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const Complex product = x[i] * factor;
    x.Put(i, {product.re + 0.0, product.im + 0.0});
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
