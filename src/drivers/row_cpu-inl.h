// SPDX-License-Identifier: MIT
// The words in which texts of rows (`*.row.h`) are written, for Highway vectors: one thread computes a row, whose numbers
// lie side by side. A text takes a row and what belongs to its places, and uses these words and lane words only, so that
// another backend may share a row among threads.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "drivers/sum_cpu-inl.h"

#define REPDL_ROW HWY_INLINE HWY_MAYBE_UNUSED
/// Stands behind the parameters of a lambda of a text.
#define REPDL_ROW_LAMBDA HWY_ATTR

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Some places of a row, whose numbers make a vector.
struct Places {
  int64_t first, count;
};

/// Numbers in memory, one for each place of a row. T is const where they are only read.
template <class T>
struct RowNumbers {
  using V = VecOf<std::remove_const_t<T>>;

  T* data;

  HWY_INLINE V operator()(Places at) const { return LoadN(data + at.first, at.count); }
  HWY_INLINE void Put(Places at, V v) const { StoreN(v, data + at.first, at.count); }
  /// Asks for numbers of rows to come: between the sums of one row, memory would idle.
  HWY_INLINE void Prefetch(Places at) const { __builtin_prefetch(data + at.first + 1024); }
};

/// A row of n places. `term`, `test` and `body` are functions of places; the words that give one number give it to all
/// threads that share the row, and wait for what any of them has put before.
template <class T>
struct Row {
  using Number = T;
  using V = VecOf<T>;

  int64_t n;
  Order order;

  TagOf<T> Tag() const { return {}; }
  /// The number of a vector of equal numbers.
  static T OneOf(V v) { return hn::GetLane(v); }
  /// A vector of a number of the row.
  static V Spread(T number) { return Set(TagOf<T>(), number); }

  /// Calls body(at) for all places.
  template <class Body>
  HWY_INLINE void Each(const Body& body) const {
    ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR { body(Places{i, count}); });
  }
  /// Calls body(at) for place i alone.
  template <class Body>
  HWY_INLINE void At(int64_t i, const Body& body) const {
    body(Places{i, 1});
  }
  /// The number of `term` at place i.
  template <class Term>
  HWY_INLINE T Get(int64_t i, const Term& term) const {
    return hn::GetLane(term(Places{i, 1}));
  }
  /// Whether `test`, a mask, holds at all places.
  template <class Test>
  HWY_INLINE bool All(const Test& test) const {
    const TagOf<T> d;
    for (int64_t i = 0; i < n; i += kLanesOf<T>) {
      const int64_t count = std::min(n - i, kLanesOf<T>);
      const auto counts = hn::FirstN(d, static_cast<size_t>(count));
      if (!AllTrue(d, Or(test(Places{i, count}), Not(counts)))) return false;
    }
    return true;
  }
  /// The largest number. With a NaN among them the result does not matter: every sum that it enters is NaN.
  template <class U>
  HWY_INLINE T Max(const RowNumbers<U>& x) const {
    const TagOf<T> d;
    constexpr T kLowest = -std::numeric_limits<T>::infinity();
    V largest = Set(d, kLowest);
    ForVectors<T>(
        n, [&](int64_t i, int64_t count) HWY_ATTR { largest = hn::Max(largest, LoadN(x.data + i, count, kLowest)); });
    HWY_ALIGN T lanes[kLanesOf<T>];
    Store(largest, d, lanes);
    return *std::max_element(lanes, lanes + kLanesOf<T>);
  }
  /// Sum of the contract, of numbers in memory.
  template <class U>
  HWY_INLINE T Sum(const RowNumbers<U>& x) const {
    return SumRow(x.data, n, order);
  }
  /// The same of terms of a step or two, which are computed as they are added.
  template <class Term>
  HWY_INLINE T Sum(const Term& term) const {
    return SumOf<T>(n, order, [&](int64_t i, int64_t count) HWY_ATTR { return term(Places{i, count}); });
  }
  /// The same of terms of many steps: a chunk of them is computed, then added.
  template <class Term>
  HWY_INLINE T SumByChunk(const Term& term) const {
    HWY_ALIGN T terms[kSumChunk];
    return SumTerms<T>(n, order, [&](int64_t begin, int64_t length) HWY_ATTR {
      ForVectors<T>(
          length, [&](int64_t i, int64_t count) HWY_ATTR { StoreN(term(Places{begin + i, count}), terms + i, count); });
      return terms;
    });
  }
};

/// A row put where it belongs: nothing to do if it was computed in place.
template <class T>
HWY_INLINE void PutRow(const T* row, int64_t n, T* to, int64_t stride) {
  if (row == to) return;
  for (int64_t i = 0; i < n; ++i) to[i * stride] = row[i];
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
