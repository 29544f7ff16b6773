// SPDX-License-Identifier: MIT
// Sum(x_i) of the contract, for one row of terms and for many columns at once.
#pragma once

#include "base/arena.h"
#include "drivers/vector_cpu-inl.h"
#include "numerics/order.h"
#include "repdl/order.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

template <class T>
inline constexpr int64_t kSumVecs = kSumLanes / kLanesOf<T>;

/// lane[j] + lane[j + h] for h = half the lanes, then a quarter, … down to one number.
#if defined(REPDL_SVE)
// Highway has no parts of vectors there that could be halved again.
template <class D>
HWY_INLINE hn::TFromD<D> FoldVector(D d, hn::Vec<D> v) {
  using T = hn::TFromD<D>;
  T lanes[kLanesOf<T>];
  StoreU(v, d, lanes);
  for (int64_t h = kLanesOf<T> / 2; h >= 1; h /= 2) {
    for (int64_t j = 0; j < h; ++j) lanes[j] = lanes[j] + lanes[j + h];
  }
  return lanes[0];
}
#else
template <class D>
HWY_INLINE hn::TFromD<D> FoldVector([[maybe_unused]] D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    return FoldVector(half, Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}
#endif

/// The 64 lanes, spread over vectors, folded to one number.
template <class T>
HWY_INLINE T FoldLanes(VecElementOf<T>* acc) {
#pragma GCC unroll 8
  for (int64_t h = kSumVecs<T> / 2; h >= 1; h /= 2) {
#pragma GCC unroll 64
    for (int64_t v = 0; v < h; ++v) acc[v] = Add(acc[v], acc[v + h]);
  }
  return FoldVector(TagOf<T>(), acc[0]);
}

/// One chunk of order `blocked`, n <= kSumChunk: term(i, count) is terms i, i + 1, … as a vector, with +0 after count.
template <class T, class Term>
HWY_INLINE T SumChunkOf(int64_t n, const Term& term) {
  VecElementOf<T> acc[kSumVecs<T>];
  for (int64_t v = 0; v < kSumVecs<T>; ++v) acc[v] = Zero(TagOf<T>());
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
#pragma GCC unroll 64
    for (int64_t v = 0; v < kSumVecs<T>; ++v) acc[v] = Add(acc[v], term(i + v * kLanesOf<T>, kLanesOf<T>));
  }
  // A lane that has no term left gets +0, which changes no lane: none of them is -0.
  for (int64_t v = 0; i < n; ++v, i += kLanesOf<T>) acc[v] = Add(acc[v], term(i, n - i));
  return FoldLanes<T>(acc);
}

/// One chunk of numbers side by side.
template <class T>
HWY_INLINE T SumChunk(const T* x, int64_t n) {
  return SumChunkOf<T>(n, [x](int64_t i, int64_t count) HWY_ATTR { return LoadN(x + i, count); });
}

template <class T>
T SumInSequence(const T* x, int64_t n, T acc) {
  for (int64_t i = 0; i < n; ++i) acc = acc + x[i];
  return acc;
}

/// Visits the chunks of one sum; sum_chunk(begin, count) is the value of a chunk.
template <class T, class SumChunk>
class SumVisitor {
 public:
  explicit SumVisitor(const SumChunk& sum_chunk) : sum_chunk_(sum_chunk) {}

  void Chain(int64_t begin, int64_t end) { value_ = sum_chunk_(begin, end - begin); }
  void TakeIn(int level) { value_ = waiting_[level] + value_; }
  void Park(int level) { waiting_[level] = value_; }
  void End() {}

  T value() const { return value_; }

 private:
  const SumChunk& sum_chunk_;
  T value_;
  T waiting_[kMaxLevels];
};

/// The tree over the chunks of n terms; sum_chunk(begin, count) is the value of one.
template <class T, class SumChunk>
HWY_INLINE T SumChunks(int64_t n, const SumChunk& sum_chunk) {
  if (n == 0) return 0;
  const Chunks chunks(n, kSumChunk);
  SumVisitor<T, SumChunk> visitor(sum_chunk);
  // WalkChunks, but short sums would feel that a chunk ends, and a call of their own would be compiled twice.
  for (int64_t index = 0; index < chunks.count; ++index) {
    visitor.Chain(chunks.Begin(index), chunks.End(index));
    if (chunks.count > 1) EndChunk(index, index + 1 == chunks.count, visitor);
  }
  return visitor.value();
}

/// Sum of n terms that `terms(begin, count)` lays side by side, at most kSumChunk at a time: it returns
/// a pointer to terms begin, begin + 1, ….
template <class T = float, class Terms>
HWY_INLINE T SumTerms(int64_t n, Order order, const Terms& terms) {
  if (order == Order::kSequential) {
    T acc = 0;
    for (int64_t i = 0; i < n; i += kSumChunk) {
      const int64_t count = std::min(kSumChunk, n - i);
      acc = SumInSequence(terms(i, count), count, acc);
    }
    return acc;
  }
  return SumChunks<T>(n, [&](int64_t begin, int64_t count) HWY_ATTR { return SumChunk(terms(begin, count), count); });
}

/// Sum of n terms of which term(i, count) makes a vector: terms i to i + count - 1 of it count.
template <class T = float, class Term>
HWY_INLINE T SumOf(int64_t n, Order order, const Term& term) {
  const TagOf<T> d;
  if (order == Order::kSequential) {
    HWY_ALIGN T buffer[kSumChunk];
    return SumTerms<T>(n, order, [&](int64_t begin, int64_t length) HWY_ATTR {
      ForVectors<T>(length,
                    [&](int64_t i, int64_t count) HWY_ATTR { StoreN(term(begin + i, count), buffer + i, count); });
      return buffer;
    });
  }
  return SumChunks<T>(n, [&](int64_t begin, int64_t length) HWY_ATTR {
    return SumChunkOf<T>(length, [&](int64_t i, int64_t count) HWY_ATTR {
      const VecOf<T> terms = term(begin + i, count);
      return HWY_LIKELY(count >= kLanesOf<T>) ? terms
                                              : IfThenElseZero(hn::FirstN(d, static_cast<size_t>(count)), terms);
    });
  });
}

/// Sum of n numbers side by side.
template <class T>
HWY_INLINE T SumRow(const T* x, int64_t n, Order order) {
  return SumTerms<T>(n, order, [x](int64_t begin, int64_t) HWY_ATTR { return x + begin; });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
