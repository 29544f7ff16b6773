// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/dot_cpu-inl.h"
#include "drivers/transpose_cpu-inl.h"
#include "drivers/vector_cpu-inl.h"
#include "numerics/order.h"
#include "ops/mm/mm_kernel.h"
#include "ops/sparse_mm/sparse_mm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Terms that are worth a fork.
constexpr int64_t kGrain = 32768;

/// Vectors of elements whose chains go on together, to hide how long an fma takes.
constexpr int64_t kVecs = 2;

template <class T>
constexpr int64_t kElements = kVecs * kLanesOf<T>;

/// Visits the chunks of a few elements, each of which has a lane.
template <class T>
class SampledVisitor {
 public:
  SampledVisitor(const SampledMmArgs<T>& args, const Chunks& chunks)
      : args_(args), waiting_(scratch_.Get<T>(NumLevels(chunks.count) * kElements<T>)) {}

  /// Begins with the elements from `first` on; lanes that are left over repeat the last one.
  void Begin(int64_t first, int64_t count) {
    first_ = first, count_ = count;
    for (int64_t i = 0; i < kElements<T>; ++i) {
      const int64_t element = first + std::min(i, count - 1);
      a_of_[i] = args_.a + args_.rows[element] * args_.k;
      b_of_[i] = args_.b + args_.columns[element] * args_.k;
    }
  }

  void Chain(int64_t begin, int64_t end) {
    VecElementOf<T> acc[kVecs];
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVecs; ++v) acc[v] = Zero(TagOf<T>());
    int64_t k = begin;
    for (; k + kDotTerms<T> <= end; k += kDotTerms<T>) {
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVecs; ++v) AddTerms<T>(a_of_ + v * kLanesOf<T>, b_of_ + v * kLanesOf<T>, k, acc[v]);
    }
#if HWY_TARGET != HWY_SCALAR
    if (k < end) {
      for (int64_t v = 0; v < kVecs; ++v) AddRest(a_of_ + v * kLanesOf<T>, b_of_ + v * kLanesOf<T>, k, end - k, acc[v]);
    }
#endif
    for (int64_t v = 0; v < kVecs; ++v) acc_[v] = acc[v];
  }
  void TakeIn(int level) {
    for (int64_t v = 0; v < kVecs; ++v) acc_[v] = Add(LoadU(TagOf<T>(), Waiting(level, v)), acc_[v]);
  }
  void Park(int level) {
    for (int64_t v = 0; v < kVecs; ++v) StoreU(acc_[v], TagOf<T>(), Waiting(level, v));
  }
  void End() {
    for (int64_t v = 0; v * kLanesOf<T> < count_; ++v) {
      const int64_t at = v * kLanesOf<T>;
      StoreN(acc_[v], args_.output + first_ + at, std::min(count_ - at, kLanesOf<T>));
    }
  }

 private:
  T* Waiting(int level, int64_t v) const { return waiting_ + level * kElements<T> + v * kLanesOf<T>; }

#if HWY_TARGET != HWY_SCALAR
  /// Goes on by fewer.
  HWY_NOINLINE static void AddRest(const T* const* a, const T* const* b, int64_t k, int64_t length,
                                   VecElementOf<T>& acc) {
    VecElementOf<T> x[kLanesOf<T>], y[kLanesOf<T>];
    for (int64_t i = 0; i < kLanesOf<T>; ++i) x[i] = LoadN(a[i] + k, length), y[i] = LoadN(b[i] + k, length);
    TransposeSquare<T>(x);
    TransposeSquare<T>(y);
    for (int64_t q = 0; q < length; ++q) acc = Fma<VecOf<T>>(x[q], y[q], acc);
  }
#endif

  Scratch scratch_;
  const SampledMmArgs<T>& args_;
  T* waiting_;
  int64_t first_ = 0, count_ = 0;
  const T *a_of_[kElements<T>], *b_of_[kElements<T>];
  VecElementOf<T> acc_[kVecs];
};

template <class T>
void SampledMm(const SampledMmArgs<T>& args) {
  const int64_t groups = (args.count + kElements<T> - 1) / kElements<T>;
  const int64_t grain = kGrain / (kElements<T> * std::max<int64_t>(args.k, 1));
  ParallelRanges(groups, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    const Chunks chunks(args.k, ChainLength(args.order, args.k));
    SampledVisitor<T> visitor(args, chunks);
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * kElements<T>;
      visitor.Begin(first, std::min(args.count - first, kElements<T>));
      WalkChunks(chunks, visitor);
    }
  });
}

}  // namespace

void SampledMmKernel(const SampledMmArgs<float>& args) { SampledMm(args); }
void SampledMmKernel(const SampledMmArgs<double>& args) { SampledMm(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
