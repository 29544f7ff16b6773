// SPDX-License-Identifier: MIT
#include <atomic>

#include "drivers/matrix_cpu-inl.h"
#include "drivers/sum_cpu-inl.h"
#include "ops/jacobi/jacobi_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

constexpr int64_t kInnerLanes = 16;
constexpr int kMaxSweeps = 60;
constexpr int kInnerVecs = static_cast<int>(kInnerLanes / kLanesOf<double>);

/// Inner of the contract.
double Inner(const double* x, const double* y, int64_t n) {
  const TagOf<double> d;
  VecElementOf<double> acc[kInnerVecs];
#pragma GCC unroll 16
  for (int v = 0; v < kInnerVecs; ++v) acc[v] = Zero(d);
  int64_t i = 0;
  for (; i + kInnerLanes <= n; i += kInnerLanes) {
#pragma GCC unroll 16
    for (int v = 0; v < kInnerVecs; ++v) {
      const int64_t at = i + v * kLanesOf<double>;
      acc[v] = Fma<VecOf<double>>(LoadU(d, x + at), LoadU(d, y + at), acc[v]);
    }
  }
  for (int v = 0; v < kInnerVecs && i + v * kLanesOf<double> < n; ++v) {
    // The zeros behind the end change at most the sign of a zero, which reaches nothing.
    const int64_t at = i + v * kLanesOf<double>;
    acc[v] = Fma<VecOf<double>>(LoadN(x + at, n - at), LoadN(y + at, n - at), acc[v]);
  }
#pragma GCC unroll 8
  for (int h = kInnerVecs / 2; h >= 1; h /= 2) {
#pragma GCC unroll 8
    for (int v = 0; v < h; ++v) acc[v] = Add(acc[v], acc[v + h]);
  }
  return FoldVector(d, VecOf<double>(acc[0]));
}

/// (u, v) become (cos u - sin v, sin u + cos v).
void Rotate(double cosine, double sine, double* x, double* y, int64_t n) {
  const TagOf<double> d;
  const VecOf<double> c = Set(d, cosine), s = Set(d, sine);
  ForVectors<double>(n, [&](int64_t i, int64_t count) HWY_ATTR {
    const VecOf<double> u = LoadN(x + i, count), v = LoadN(y + i, count);
    StoreN<double>(Fma(c, u, Neg(Mul(s, v))), x + i, count);
    StoreN<double>(Fma(s, u, Mul(c, v)), y + i, count);
  });
}

struct Matrix {
  int64_t n, m, width;
  double tolerance;
  double** rows;    // in their order
  double* squares;  // of the rows

  /// The sweeps that it took, or 0.
  int64_t Run() const {
    for (int64_t sweep = 1; sweep <= kMaxSweeps; ++sweep) {
      if (!Sweep()) return sweep;
    }
    return 0;
  }

 private:
  bool Sweep() const {
    const int64_t work = width + m;
    ParallelRanges(n, 100000 / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) squares[r] = Inner(rows[r], rows[r], width);
    });
    double largest = 1e-308;
    for (int64_t r = 0; r < n; ++r) largest = squares[r] > largest ? squares[r] : largest;
    const double limit = largest * (tolerance * tolerance);
    std::atomic<bool> turned = false;
    for (int64_t round = 0; round < n; ++round) {
      const int64_t first = round % 2, pairs = (n - first) / 2;
      ParallelRanges(pairs, 50000 / (work + 1) + 1, [&](int64_t begin, int64_t end) {
        bool some = false;
        for (int64_t pair = begin; pair < end; ++pair) some |= Turn(first + 2 * pair, limit);
        if (some) turned = true;
      });
    }
    std::reverse(rows, rows + n);
    return turned;
  }

  bool Turn(int64_t a, double limit) const {
    const TagOf<double> d;
    double *&x = rows[a], *&y = rows[a + 1];
    double &p = squares[a], &q = squares[a + 1];
    const double inner = Inner(x, y, width);
    const bool turned = inner * inner > (p < q ? q : p) * limit;
    if (turned) {
      const auto root = [&](double value) HWY_ATTR { return hn::GetLane(Sqrt(Set(d, value))); };
      const double apart = q - p, twice = inner + inner;
      const double size = root(apart * apart + twice * twice);
      const double angle = twice / (__builtin_fabs(apart) + size), tangent = apart < 0 ? -angle : angle;
      const double cosine = 1.0 / root(tangent * tangent + 1.0);
      Rotate(cosine, cosine * tangent, x, y, m);
      const double change = tangent * inner;
      p = p - change;
      q = q + change;
    }
    std::swap(x, y);
    std::swap(p, q);
    return turned;
  }
};

}  // namespace

void JacobiKernel(const JacobiArgs& args) {
  const int64_t n = args.n, m = args.m;
  ForMatrices(args.batch, 5 * n * n * m, [&](int64_t matrix) {
    Scratch scratch;
    const Rows x = NewRows(scratch, n, m);
    LoadRows(args.input, matrix, n, m, x);
    auto** const rows = scratch.Get<double*>(n);
    for (int64_t i = 0; i < n; ++i) rows[i] = x[i];
    args.sweeps[matrix] = Matrix{n, m, args.width, args.tolerance, rows, scratch.Get<double>(n)}.Run();
    for (int64_t i = 0; i < n; ++i) {
      StoreRows({rows[i], m}, 1, m, args.input.dtype, args.output, (matrix * n + i) * m);
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
