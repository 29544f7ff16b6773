// SPDX-License-Identifier: MIT
// Householder's reflections of many vectors at once, and QR by them.
#pragma once

#include "drivers/matrix_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

inline constexpr int kVecs = 4;
/// Vectors x that are reflected at once, a lane each. It does not reach the bits.
inline constexpr int64_t kWidth = kVecs * kLanesOf<double>;

/// m numbers of each of kWidth vectors: number i of all, then number i + 1.
struct Block {
  double* data;

  double* operator[](int64_t i) const { return data + i * kWidth; }
};

using Lanes = VecElementOf<double>;

HWY_INLINE void Read(const double* from, Lanes (&to)[kVecs]) {
#pragma GCC unroll 4
  for (int v = 0; v < kVecs; ++v) to[v] = Load(TagOf<double>(), from + v * kLanesOf<double>);
}

/// The reflections first, first + step, …, `count` of them: reflection j has v_i = vectors[j][i] for i > j.
inline void Reflect(const Rows& vectors, const double* tau, int64_t first, int64_t step, int64_t count, int64_t m,
                    const Block& x) {
  if (count == 0) return;
  const TagOf<double> d;
  Lanes w[kVecs], t[kVecs], row[kVecs];
  Read(x[first], w);
  for (int64_t i = first + 1; i < m; ++i) {
    const VecOf<double> v = Set(d, vectors[first][i]);
    Read(x[i], row);
#pragma GCC unroll 4
    for (int q = 0; q < kVecs; ++q) w[q] = Fma<VecOf<double>>(v, row[q], w[q]);
  }
  for (int64_t n = 0, j = first; n < count; ++n, j += step) {
    const VecOf<double> factor = Set(d, tau[j]);
#pragma GCC unroll 4
    for (int q = 0; q < kVecs; ++q) t[q] = Mul(factor, w[q]);
    // The reflection, and on the way the w of the next one.
    const bool last = n + 1 == count;
    const int64_t next = last ? j : j + step;
    const double *const vj = vectors[j], *const vn = vectors[next];
    if (next < j) Read(x[next], w);
    for (int64_t i = j; i < std::min(m, j + 2); ++i) {
      const VecOf<double> v = Set(d, i == j ? -1.0 : -vj[i]);
      const VecOf<double> times = Set(d, i > next ? vn[i] : 0.0);
#pragma GCC unroll 4
      for (int q = 0; q < kVecs; ++q) {
        double* const at = x[i] + q * kLanesOf<double>;
        const VecOf<double> value = Fma<VecOf<double>>(v, t[q], Load(d, at));  // of v = 1 the same as a difference
        Store(value, d, at);
        const VecOf<double> before = w[q];
        w[q] = i < next ? before : i == next ? value : Fma(times, value, before);
      }
    }
    for (int64_t i = j + 2; i < m; ++i) {
      const VecOf<double> v = Set(d, -vj[i]), times = Set(d, vn[i]);
#pragma GCC unroll 4
      for (int q = 0; q < kVecs; ++q) {
        double* const at = x[i] + q * kLanesOf<double>;
        const VecOf<double> value = Fma<VecOf<double>>(v, t[q], Load(d, at));
        Store(value, d, at);
        w[q] = Fma<VecOf<double>>(times, value, w[q]);
      }
    }
  }
}

struct Qr {
  int64_t m, n;
  double* data;  // blocks of columns
  Rows vectors;  // the reflections
  double* tau;
  int64_t* order;
  double least;  // a column with squares of no more than this below the diagonal has no reflection

  Block At(int64_t block) const { return {data + block * m * kWidth}; }
  double& At(int64_t i, int64_t j) const { return At(j / kWidth)[i][j % kWidth]; }
  int64_t num_blocks() const { return (n + kWidth - 1) / kWidth; }

  void Run(bool pivot) const {
    const int64_t steps = std::min(m, n);
    if (pivot) return RunPivoted(steps);
    for (int64_t begin = 0; begin < steps; begin += kWidth) {
      const int64_t end = std::min(steps, begin + kWidth);
      for (int64_t j = begin; j < end; ++j) {
        MakeReflection(j);
        ReflectBehind(j);
      }
      ForBlocks(end / kWidth + (end % kWidth != 0 ? 1 : 0), end - begin,
                [&](int64_t block) { Reflect(vectors, tau, begin, 1, end - begin, m, At(block)); });
    }
  }

 private:
  template <class Body>
  void ForBlocks(int64_t first, int64_t count, const Body& body) const {
    const int64_t grain = 50000 / (m * kWidth * count + 1) + 1;
    ParallelRanges(num_blocks() - first, grain, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) body(first + block);
    });
  }

  /// Of column j.
  void MakeReflection(int64_t j) const {
    const TagOf<double> one;
    const Block x = At(j / kWidth);
    const int64_t at = j % kWidth;
    VecOf<double> below = Zero(one);
    for (int64_t i = j + 1; i < m; ++i) {
      const VecOf<double> value = Set(one, x[i][at]);
      below = Fma(value, value, below);
    }
    double* const v = vectors[j];
    if (hn::GetLane(below) <= least) {
      tau[j] = 0;
      for (int64_t i = j + 1; i < m; ++i) v[i] = x[i][at];
      return;
    }
    const double head = x[j][at];
    const double size = hn::GetLane(Sqrt(Fma(Set(one, head), Set(one, head), below)));
    const double first = head < 0 ? size : -size;
    tau[j] = (first - head) / first;
    const double divisor = head - first;
    for (int64_t i = j + 1; i < m; ++i) v[i] = x[i][at];
    DivideRow(divisor, v, j + 1, m);
    x[j][at] = first;
  }

  /// The columns of its block behind column j.
  void ReflectBehind(int64_t j) const {
    const TagOf<double> d;
    const Block x = At(j / kWidth);
    const int64_t behind = j % kWidth + 1;
    const int first = static_cast<int>(behind / kLanesOf<double>);  // the first vector with a column behind
    const double* const v = vectors[j];
    for (int q = first; q < kVecs; ++q) {
      const int64_t kept = std::max<int64_t>(0, behind - q * kLanesOf<double>);
      double* const from = x.data + q * kLanesOf<double>;
      VecOf<double> w = Load(d, from + j * kWidth);
      for (int64_t i = j + 1; i < m; ++i) w = Fma(Set(d, v[i]), Load(d, from + i * kWidth), w);
      const auto mask = hn::FirstN(d, static_cast<size_t>(kept));
      const VecOf<double> t = Mul(Set(d, tau[j]), w);
      for (int64_t i = j; i < m; ++i) {
        const VecOf<double> old = Load(d, from + i * kWidth);
        const VecOf<double> value = Fma(Set(d, i == j ? -1.0 : -v[i]), t, old);
        Store(IfThenElse(mask, old, value), d, from + i * kWidth);
      }
    }
  }

  void RunPivoted(int64_t steps) const {
    Scratch scratch;
    double* const sums = scratch.Get<double>(num_blocks() * kWidth);
    for (int64_t j = 0; j < steps; ++j) {
      ForBlocks(j / kWidth, 1, [&](int64_t block) { SumSquares(At(block), j, sums + block * kWidth); });
      int64_t chosen = j;
      for (int64_t c = j + 1; c < n && sums[chosen] == sums[chosen]; ++c) {
        if (!(sums[c] <= sums[chosen])) chosen = c;
      }
      if (chosen != j) Exchange(j, chosen);
      MakeReflection(j);
      ReflectBehind(j);
      ForBlocks(j / kWidth + 1, 1, [&](int64_t block) { Reflect(vectors, tau, j, 1, 1, m, At(block)); });
    }
  }

  void SumSquares(const Block& x, int64_t j, double* sums) const {
    Lanes sum[kVecs], row[kVecs];
    for (int q = 0; q < kVecs; ++q) sum[q] = Zero(TagOf<double>());
    for (int64_t i = j; i < m; ++i) {
      Read(x[i], row);
      for (int q = 0; q < kVecs; ++q) sum[q] = Fma<VecOf<double>>(row[q], row[q], sum[q]);
    }
    for (int q = 0; q < kVecs; ++q) Store(sum[q], TagOf<double>(), sums + q * kLanesOf<double>);
  }

  void Exchange(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < m; ++i) std::swap(At(i, a), At(i, b));
    std::swap(order[a], order[b]);
  }
};

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
