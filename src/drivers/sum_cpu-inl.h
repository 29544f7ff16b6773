// SPDX-License-Identifier: MIT
// Sum(x_i) of the contract, for one row of terms and for many columns at once.
#pragma once

#include <array>

#include "base/arena.h"
#include "drivers/vector_cpu-inl.h"
#include "numerics/order.h"
#include "repdl/order.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

inline constexpr int64_t kSumVecs = kSumLanes / kLanes;

/// The tree of order.h over values that arrive one after the other.
class SumTree {
 public:
  /// Takes in the value of the next chunk. At most 2^50 chunks.
  void Push(float value) {
    TakeIn(count_, /*last=*/false, [&](int level) { value = waiting_[level] + value; });
    waiting_[Park(count_)] = value;
    ++count_;
  }
  float Total() const {
    if (count_ == 0) return 0.0f;
    int level = 0;
    while ((count_ >> level & 1) == 0) ++level;
    float total = waiting_[level];
    for (++level; count_ >> level != 0; ++level) {
      if ((count_ >> level & 1) != 0) total = waiting_[level] + total;
    }
    return total;
  }

 private:
  std::array<float, 50> waiting_;
  int64_t count_ = 0;
};

/// lane[j] + lane[j + h] for h = half the lanes, then a quarter, … down to one number.
#if defined(REPDL_SVE)
// Highway has no parts of vectors there that could be halved again.
HWY_INLINE float FoldVector(FloatTag d, Vec v) {
  float lanes[kLanes];
  StoreU(v, d, lanes);
  for (int64_t h = kLanes / 2; h >= 1; h /= 2) {
    for (int64_t j = 0; j < h; ++j) lanes[j] = lanes[j] + lanes[j + h];
  }
  return lanes[0];
}
#else
template <class D>
HWY_INLINE float FoldVector([[maybe_unused]] D d, hn::Vec<D> v) {
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
HWY_INLINE float FoldLanes(VecElement* acc) {
#pragma GCC unroll 8
  for (int64_t h = kSumVecs / 2; h >= 1; h /= 2) {
#pragma GCC unroll 64
    for (int64_t v = 0; v < h; ++v) acc[v] = Add(acc[v], acc[v + h]);
  }
  return FoldVector(FloatTag(), acc[0]);
}

/// One chunk of order `blocked`, n <= kSumChunk: term(i, count) is terms i, i + 1, … as a vector, with +0 after count.
template <class Term>
HWY_INLINE float SumChunkOf(int64_t n, const Term& term) {
  VecElement acc[kSumVecs];
  for (int64_t v = 0; v < kSumVecs; ++v) acc[v] = Zero(FloatTag());
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
#pragma GCC unroll 64
    for (int64_t v = 0; v < kSumVecs; ++v) acc[v] = Add(acc[v], term(i + v * kLanes, kLanes));
  }
  // A lane that has no term left gets +0, which changes no lane: none of them is -0.
  for (int64_t v = 0; i < n; ++v, i += kLanes) acc[v] = Add(acc[v], term(i, n - i));
  return FoldLanes(acc);
}

/// One chunk of numbers side by side.
HWY_INLINE float SumChunk(const float* x, int64_t n) {
  return SumChunkOf(n, [x](int64_t i, int64_t count) HWY_ATTR { return LoadN(x + i, count); });
}

inline float SumInSequence(const float* x, int64_t n, float acc) {
  for (int64_t i = 0; i < n; ++i) acc = acc + x[i];
  return acc;
}

/// The tree over the chunks of n terms; sum_chunk(begin, count) is the value of one.
template <class Chunk>
HWY_INLINE float SumChunks(int64_t n, const Chunk& sum_chunk) {
  if (n <= kSumChunk) return n == 0 ? 0.0f : sum_chunk(0, n);
  SumTree tree;
  for (int64_t i = 0; i < n; i += kSumChunk) tree.Push(sum_chunk(i, std::min(kSumChunk, n - i)));
  return tree.Total();
}

/// Sum of n terms that `terms(begin, count)` lays side by side, at most kSumChunk at a time: it returns
/// a pointer to terms begin, begin + 1, ….
template <class Terms>
HWY_INLINE float SumTerms(int64_t n, Order order, const Terms& terms) {
  if (order == Order::kSequential) {
    float acc = 0.0f;
    for (int64_t i = 0; i < n; i += kSumChunk) {
      const int64_t count = std::min(kSumChunk, n - i);
      acc = SumInSequence(terms(i, count), count, acc);
    }
    return acc;
  }
  return SumChunks(n, [&](int64_t begin, int64_t count) HWY_ATTR { return SumChunk(terms(begin, count), count); });
}

/// Sum of n terms of which term(i, count) makes a vector: terms i to i + count - 1 of it count.
template <class Term>
HWY_INLINE float SumOf(int64_t n, Order order, const Term& term) {
  const FloatTag d;
  if (order == Order::kSequential) {
    HWY_ALIGN float buffer[kSumChunk];
    return SumTerms(n, order, [&](int64_t begin, int64_t length) HWY_ATTR {
      ForVectors(length, [&](int64_t i, int64_t count) HWY_ATTR { StoreN(term(begin + i, count), buffer + i, count); });
      return buffer;
    });
  }
  return SumChunks(n, [&](int64_t begin, int64_t length) HWY_ATTR {
    return SumChunkOf(length, [&](int64_t i, int64_t count) HWY_ATTR {
      const Vec terms = term(begin + i, count);
      return HWY_LIKELY(count >= kLanes) ? terms : IfThenElseZero(hn::FirstN(d, static_cast<size_t>(count)), terms);
    });
  });
}

/// Sum of n numbers side by side.
HWY_INLINE float SumRow(const float* x, int64_t n, Order order) {
  return SumTerms(n, order, [x](int64_t begin, int64_t) HWY_ATTR { return x + begin; });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
