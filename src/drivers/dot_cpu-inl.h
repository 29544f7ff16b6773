// SPDX-License-Identifier: MIT
// One element of a product over many terms: a lane for each chunk, whose chains do not depend on each other.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/transpose_cpu-inl.h"
#include "drivers/vector_cpu-inl.h"
#include "numerics/order.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Chains that go on together: whole vectors of them, enough to hide how long an fma takes. With more, which lie 256
/// numbers apart, rows would leave the nearest cache before their lines are used up.
template <class T>
inline constexpr int64_t kChainsOf = 64 / sizeof(T);

/// Terms that a chain goes on by: what fits into registers for both operands.
#if HWY_TARGET == HWY_SCALAR
template <class T>
inline constexpr int64_t kDotTerms = 1;
#else
template <class T>
inline constexpr int64_t kDotTerms = kBlockOf<T>;
#endif

/// Goes on with a chain in each lane, of rows a and b, by kDotTerms terms.
template <class T>
HWY_INLINE void AddTerms(const T* const* a, const T* const* b, int64_t k, VecElementOf<T>& acc) {
#if HWY_TARGET == HWY_SCALAR
  acc = Fma<VecOf<T>>(LoadU(TagOf<T>(), *a + k), LoadU(TagOf<T>(), *b + k), acc);
#else
  constexpr int64_t kTerms = kDotTerms<T>;
  VecElementOf<T> x[kTerms], y[kTerms];
  LoadTransposed<T, kTerms>([&](int64_t i) HWY_ATTR { return a[i] + k; }, x);
  LoadTransposed<T, kTerms>([&](int64_t i) HWY_ATTR { return b[i] + k; }, y);
#pragma GCC unroll 4
  for (int64_t q = 0; q < kTerms; ++q) acc = Fma<VecOf<T>>(x[q], y[q], acc);
#endif
}

/// values[i] = the chain of `length` terms of rows a[i] and b[i].
template <class T>
void RunChains(const T* const* a, const T* const* b, int64_t length, T* values) {
  constexpr int64_t kChains = kChainsOf<T>, kTerms = kDotTerms<T>, kVecs = kChains / kLanesOf<T>;
  VecElementOf<T> acc[kVecs];
#pragma GCC unroll 16
  for (int64_t v = 0; v < kVecs; ++v) acc[v] = Zero(TagOf<T>());
  int64_t k = 0;
  for (; k + kTerms <= length; k += kTerms) {
#pragma GCC unroll 16
    for (int64_t v = 0; v < kVecs; ++v) AddTerms<T>(a + v * kLanesOf<T>, b + v * kLanesOf<T>, k, acc[v]);
  }
  for (; k < length; ++k) {
    HWY_ALIGN T x[kChains], y[kChains];
    for (int64_t i = 0; i < kChains; ++i) x[i] = a[i][k], y[i] = b[i][k];
#pragma GCC unroll 16
    for (int64_t v = 0; v < kVecs; ++v) {
      acc[v] = Fma<VecOf<T>>(LoadU(TagOf<T>(), x + v * kLanesOf<T>), LoadU(TagOf<T>(), y + v * kLanesOf<T>), acc[v]);
    }
  }
  for (int64_t v = 0; v < kVecs; ++v) StoreU(acc[v], TagOf<T>(), values + v * kLanesOf<T>);
}

/// The chains of a sum of products a[k * a_stride] * b[k * b_stride], some at a time.
template <class T>
class DotChains {
 public:
  static constexpr int64_t kChains = kChainsOf<T>;

  DotChains(const Chunks& chunks, const T* a, int64_t a_stride, const T* b, int64_t b_stride)
      : chunks_(chunks), a_(a), b_(b), a_stride_(a_stride), b_stride_(b_stride) {
    const int64_t group = kChains * chunks.length;
    if (a_stride != 1) a_buffer_ = scratch_.Get<T>(group);
    if (b_stride != 1) b_buffer_ = scratch_.Get<T>(group);
    if (chunks.num_terms % chunks.length != 0) {
      a_last_ = scratch_.Get<T>(chunks.length);
      b_last_ = scratch_.Get<T>(chunks.length);
    }
  }

  /// values[i] = the chain of chunk `index` + i, for as many as go on together; behind the last chunk it is any number.
  void Run(int64_t index, T* values) {
    const int64_t count = std::min(kChains, chunks_.count - index);
    const int64_t begin = chunks_.Begin(index), end = chunks_.End(index + count - 1);
    const T* const a = SideBySide(a_ + begin * a_stride_, a_stride_, end - begin, a_buffer_);
    const T* const b = SideBySide(b_ + begin * b_stride_, b_stride_, end - begin, b_buffer_);
    const T *a_of[kChains], *b_of[kChains];
    for (int64_t i = 0; i < kChains; ++i) {  // chains that do not exist repeat the last one
      const int64_t from = std::min(i, count - 1) * chunks_.length;
      a_of[i] = a + from, b_of[i] = b + from;
    }
    if (const int64_t last = end - chunks_.Begin(index + count - 1); last < chunks_.length) {
      // fma(-0, +0, x) is x for every x.
      std::copy_n(a_of[count - 1], last, a_last_);
      std::copy_n(b_of[count - 1], last, b_last_);
      std::fill(a_last_ + last, a_last_ + chunks_.length, T{-0.0});
      std::fill(b_last_ + last, b_last_ + chunks_.length, T{0.0});
      std::fill(a_of + count - 1, a_of + kChains, a_last_);
      std::fill(b_of + count - 1, b_of + kChains, b_last_);
    }
    RunChains(a_of, b_of, chunks_.length, values);
  }

 private:
  Scratch scratch_;
  Chunks chunks_;
  const T *a_, *b_;
  int64_t a_stride_, b_stride_;
  T *a_buffer_ = nullptr, *b_buffer_ = nullptr;
  T *a_last_ = nullptr, *b_last_ = nullptr;  // a last chunk that is shorter, filled up
};

/// Visits the chunks of a sum whose chains are there.
template <class T>
struct ChainValues {
  const T* chains;
  int64_t length;
  T* waiting;
  T value{};

  void Chain(int64_t begin, int64_t) { value = chains[begin / length]; }
  void TakeIn(int level) { value = waiting[level] + value; }
  void Park(int level) { waiting[level] = value; }
  void End() {}
};

/// Elements of a result that are worth computing one by one, and the number of chunks from which on they are.
inline constexpr int64_t kMaxDots = 8, kMinDotChunks = 3;

/// The chunks' length has to be a multiple of the lanes'. On several threads where it pays, unless a task calls it.
template <class T>
T Dot(const Chunks& chunks, const T* a, int64_t a_stride, const T* b, int64_t b_stride) {
  Scratch scratch;
  constexpr int64_t kChains = kChainsOf<T>;
  const int64_t groups = (chunks.count + kChains - 1) / kChains;
  T* const chains = scratch.Get<T>(groups * kChains);
  constexpr int64_t kGroupsWorthAFork = 4;  // a group takes about 1 µs
  ParallelRanges(groups, kGroupsWorthAFork, [&](int64_t begin, int64_t end) HWY_ATTR {
    DotChains<T> some(chunks, a, a_stride, b, b_stride);
    for (int64_t group = begin; group < end; ++group) some.Run(group * kChains, chains + group * kChains);
  });
  ChainValues<T> visitor{chains, chunks.length, scratch.Get<T>(NumLevels(chunks.count))};
  WalkChunks(chunks, visitor);
  return visitor.value;
}

/// Whether elements of so many chunks, each of other rows, are worth computing side by side.
template <class T>
bool AreManyDots(int64_t count, const Chunks& chunks) {
  return 4 * count >= kLanesOf<T> && chunks.count < kMinDotChunks;
}

/// put(i, the sum of products of rows a(i) and b(i)) for i in [begin, end), a lane for each; for few chunks.
template <class T, class A, class B, class Put>
void ManyDots(const Chunks& chunks, int64_t begin, int64_t end, const A& a, const B& b, const Put& put) {
  constexpr int64_t kChains = kChainsOf<T>;
  for (int64_t first = begin; first < end; first += kChains) {
    const T *a_of[kChains], *b_of[kChains];
    T values[kMinDotChunks][kChains], waiting[kMinDotChunks];
    for (int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      for (int64_t i = 0; i < kChains; ++i) {  // those behind the end repeat the last one
        const int64_t row = std::min(first + i, end - 1);
        a_of[i] = a(row) + chunks.Begin(chunk), b_of[i] = b(row) + chunks.Begin(chunk);
      }
      RunChains(a_of, b_of, chunks.End(chunk) - chunks.Begin(chunk), values[chunk]);
    }
    for (int64_t i = 0; i < std::min(kChains, end - first); ++i) {
      T chains[kMinDotChunks];
      for (int64_t chunk = 0; chunk < chunks.count; ++chunk) chains[chunk] = values[chunk][i];
      ChainValues<T> visitor{chains, chunks.length, waiting};
      WalkChunks(chunks, visitor);
      put(first + i, visitor.value);
    }
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
