// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/narrow_cpu-inl.h"
#include "ops/philox/philox_multinomial_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/philox/philox_multinomial.lane.h"

/// n weights from number `at` on, as doubles.
static void Widen(const PhiloxMultinomialArgs& args, int64_t at, int64_t n, double* to) {
  if (args.dtype == DType::kFloat64) {
    std::copy_n(static_cast<const double*>(args.weights) + at, n, to);
    return;
  }
  constexpr int64_t kPiece = 256;
  float buffer[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    const float* const from = NumbersSideBySide(args.weights, args.dtype, at + i, 1, count, buffer);
    for (int64_t j = 0; j < count; ++j) to[i + j] = static_cast<double>(from[j]);
  }
}

/// The largest of n weights, and how many are above 0; -1 where one is negative or not finite.
static double Largest(const double* x, int64_t n, int64_t& present) {
  const TagOf<double> d;
  VecOf<double> largest = Zero(d), least = Zero(d), nans = Zero(d);
  ForVectors<double>(n, [&](int64_t i, int64_t count) HWY_ATTR {
    const VecOf<double> v = LoadN(x + i, count);
    largest = IfThenElse(Gt(v, largest), v, largest);
    least = IfThenElse(Lt(v, least), v, least);
    nans = IfThenElse(IsNaN(v), v, nans);
  });
  HWY_ALIGN double ends[3][kLanesOf<double>];
  Store(largest, d, ends[0]);
  Store(least, d, ends[1]);
  Store(nans, d, ends[2]);
  bool is_valid = true;
  for (int64_t i = 0; i < kLanesOf<double>; ++i) {
    ends[0][0] = std::max(ends[0][0], ends[0][i]);
    is_valid = is_valid && ends[1][i] == 0.0 && ends[2][i] == 0.0;
  }
  int64_t above = 0;
  for (int64_t i = 0; i < n; ++i) above += x[i] > 0.0 ? 1 : 0;
  present = is_valid && ends[0][0] < HUGE_VAL ? above : -1;
  return ends[0][0];
}

void PhiloxMultinomialKernel(const PhiloxMultinomialArgs& args) {
  ParallelRanges(args.rows, 8192 / args.n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    const TagOf<double> d;
    for (int64_t row = begin; row < end; ++row) {
      double* const x = args.integers + row * args.n;
      Widen(args, row * args.n, args.n, x);
      const double largest = Largest(x, args.n, args.present[row]);
      if (args.present[row] <= 0) continue;
      if (args.scale == 0.0) {
        float* const scores = args.scores + row * args.n;
        for (int64_t i = 0; i < args.n; ++i) {
          // A weight that becomes 0 only now still goes before those that are.
          const float score = static_cast<float>(x[i] / largest) / scores[i];
          scores[i] = x[i] > 0.0 ? score : -1.0f;
        }
        continue;
      }
      ForVectors<double>(args.n, [&](int64_t i, int64_t count) HWY_ATTR {
        StoreN(IntegerOfWeight(d, LoadN(x + i, count), Set(d, largest), Set(d, args.scale)), x + i, count);
      });
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
