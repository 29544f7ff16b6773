// SPDX-License-Identifier: MIT
// What one thread of a CUDA kernel does of a row, in plain C++, so that tests can run it on the host. A text of rows
// (`*.row.h`) is included in namespace repdl::scalar.
#pragma once

#include <type_traits>

#include "drivers/loops_cuda_thread.h"
#include "numerics/order.h"

#if defined(__CUDACC__)
#define REPDL_ROW __device__ __forceinline__
#else
#define REPDL_ROW inline
#endif
/// A lambda is code of the device where the function around it is.
#define REPDL_ROW_LAMBDA

namespace repdl::scalar {

/// One place of a row.
struct RowPlace {
  int64_t index;
};

/// Numbers in memory, one for each place of a row. T is const where they are only read.
template <class T>
struct RowNumbers {
  T* data;
  int64_t stride = 1;

  REPDL_LANE std::remove_const_t<T> operator()(RowPlace at) const { return data[at.index * stride]; }
  REPDL_LANE void Put(RowPlace at, T value) const { data[at.index * stride] = value; }
  /// Nothing to do: while one thread waits for memory, others run.
  REPDL_LANE void Prefetch(RowPlace) const {}
};

/// Numbers in memory, anywhere.
template <class T>
struct ScatteredNumbers {
  const T* data;
  const DeviceLoops* loops;

  REPDL_LANE T operator()(RowPlace at) const { return data[loops->Offset(at.index)]; }
};

/// The rows of a tensor along one dimension.
template <class T>
struct StridedRows {
  T* data;
  DeviceLoops starts;
  int64_t stride;

  REPDL_LANE RowNumbers<T> operator()(int64_t row) const { return {data + starts.Offset(row), stride}; }
};

/// The visitor of the walk over chunks, EndChunk: `value` is what the chunk under way has, `waiting` is memory for the
/// levels.
template <class T>
struct SumTree {
  T* waiting;
  T value;

  REPDL_LANE void TakeIn(int level) { value = Add(waiting[level], value); }
  REPDL_LANE void Park(int level) { waiting[level] = value; }
  REPDL_LANE void End() {}
};

/// Lane `lane` of a chunk, terms [begin, end).
template <class T, class Term>
REPDL_ROW T SumLane(int64_t begin, int64_t end, int64_t lane, const Term& term) {
  T acc = 0;
  for (int64_t i = begin + lane; i < end; i += kSumLanes) acc = Add(acc, term(RowPlace{i}));
  return acc;
}

/// The same of lanes `lane` and lane + kSumLanes / 2, added: a step of the fold.
template <class T, class Term>
REPDL_ROW T SumTwoLanes(int64_t begin, int64_t end, int64_t lane, const Term& term) {
  constexpr int64_t kHalf = kSumLanes / 2;
  T low = 0, high = 0;
  int64_t i = begin + lane;
  for (; i + kHalf < end; i += kSumLanes) {
    low = Add(low, term(RowPlace{i}));
    high = Add(high, term(RowPlace{i + kHalf}));
  }
  if (i < end) low = Add(low, term(RowPlace{i}));
  return Add(low, high);
}

/// The same of all lanes.
template <class T, class Term>
REPDL_ROW T SumChunk(int64_t begin, int64_t end, const Term& term) {
  constexpr int kLevels = 6;
  static_assert(kSumLanes == 1 << kLevels);
  // The fold is the tree over the lanes in the order of their bits reversed: lane j meets j + 32, their sum that of j + 16
  // and j + 48. Lanes without a term are +0 and change nothing, so that a short chunk may have half of the lanes, or less.
  int levels = kLevels;
  while (levels > 0 && end - begin <= int64_t{1} << (levels - 1)) --levels;
  const int64_t lanes = int64_t{1} << levels;
  T waiting[kLevels];
  SumTree<T> tree{waiting, T{0}};
  for (int64_t k = 0; k < lanes; ++k) {
    int64_t lane = 0;
    for (int bit = 0; bit < levels; ++bit) lane |= (k >> bit & 1) << (levels - 1 - bit);
    tree.value = SumLane<T>(begin, end, lane, term);
    EndChunk(k, k + 1 == lanes, tree);
  }
  return tree.value;
}

/// Sum of n terms in chunks of `length`, by one thread.
template <class T, class Term>
REPDL_ROW T SumChunks(int64_t n, int64_t length, const Term& term) {
  const Chunks chunks(n, length);
  T waiting[kMaxLevels];
  SumTree<T> tree{waiting, T{0}};
  for (int64_t index = 0; index < chunks.count; ++index) {
    tree.value = SumChunk<T>(chunks.Begin(index), chunks.End(index), term);
    EndChunk(index, index + 1 == chunks.count, tree);
  }
  return tree.value;
}

struct Larger {
  template <class T>
  REPDL_LANE T operator()(T a, T b) const {
    return scalar::Max(a, b);
  }
};

/// What rows have in common, however many threads share one. The words are those of Row (row_cpu-inl.h); numbers in memory
/// are terms like others.
template <class T>
struct RowWords {
  using Number = T;

  int64_t n;
  Order order;

  REPDL_ROW scalar::Tag<T> Tag() const { return {}; }
  REPDL_ROW static T OneOf(T number) { return number; }
  REPDL_ROW static T Spread(T number) { return number; }
};

/// A row that one thread computes.
template <class T>
struct ThreadRow : RowWords<T> {
  /// Whether this thread is the one that puts what there is once.
  REPDL_ROW bool IsFirst() const { return true; }

  template <class Body>
  REPDL_ROW void Each(const Body& body) const {
    for (int64_t i = 0; i < this->n; ++i) body(RowPlace{i});
  }
  template <class Body>
  REPDL_ROW void At(int64_t i, const Body& body) const {
    body(RowPlace{i});
  }
  template <class Term>
  REPDL_ROW T Get(int64_t i, const Term& term) const {
    return term(RowPlace{i});
  }
  template <class Test>
  REPDL_ROW bool All(const Test& test) const {
    for (int64_t i = 0; i < this->n; ++i) {
      if (!test(RowPlace{i})) return false;
    }
    return true;
  }
  /// f of all numbers, which is the same in any order: f(start, x) is x.
  template <class X, class F>
  REPDL_ROW T Reduce(const X& x, T start, const F& f) const {
    for (int64_t i = 0; i < this->n; ++i) start = f(start, x(RowPlace{i}));
    return start;
  }
  template <class X>
  REPDL_ROW T Max(const X& x) const {
    return Reduce(x, Neg(Inf(this->Tag())), Larger());
  }
  template <class Term>
  REPDL_ROW T Sum(const Term& term) const {
    if (this->order == Order::kBlocked) return SumChunks<T>(this->n, kSumChunk, term);
    T acc = 0;
    for (int64_t i = 0; i < this->n; ++i) acc = Add(acc, term(RowPlace{i}));
    return acc;
  }
  template <class Term>
  REPDL_ROW T SumByChunk(const Term& term) const {
    return Sum(term);
  }
};

}  // namespace repdl::scalar
