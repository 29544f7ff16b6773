// SPDX-License-Identifier: MIT
// Terms that go to places on CUDA, several to one. They are sorted by their places, and those of one place, which then lie
// side by side in the order of the terms, are one thread's: nothing is added by atomic operations.
#pragma once

#include "drivers/sort_cuda.h"
#include "numerics/lanes/scalar.h"

namespace repdl::cuda {

/// Terms in the order of their places. Those without a place are the last ones.
template <class Key>
struct SortedTerms {
  const SortEntry<Key>* entries;
  int64_t count;

  static constexpr Key kNowhere = static_cast<Key>(-1);

  REPDL_LANE int64_t PlaceOf(int64_t i) const { return static_cast<int64_t>(entries[i].KeyOf()); }
  REPDL_LANE int64_t TermOf(int64_t i) const { return entries[i].Place(); }
  REPDL_LANE bool Has(int64_t i) const { return entries[i].KeyOf() != kNowhere; }
  /// Whether i is the first, or the last, of the terms of a place.
  REPDL_LANE bool Begins(int64_t i) const { return Has(i) && (i == 0 || entries[i - 1].KeyOf() != entries[i].KeyOf()); }
  REPDL_LANE bool Ends(int64_t i) const {
    return Has(i) && (i + 1 == count || entries[i + 1].KeyOf() != entries[i].KeyOf());
  }
  /// How many terms go to the place of i.
  REPDL_LANE int64_t CountAt(int64_t i) const {
    const Key key = entries[i].KeyOf();
    const int64_t first = CountBefore(entries, count, SortEntry<Key>::Make(key, 0));
    return CountBefore(entries, count, SortEntry<Key>::Make(static_cast<Key>(key + 1), 0)) - first;
  }

  /// What `result` is once all terms t of the place that begins at `first` have met it, one after the other:
  /// step(result, term(t)). They are read some at a time, so that a thread does not wait for each.
  template <class T, class Step, class Term>
  __device__ __forceinline__ T Meet(T result, int64_t first, const Step& step, const Term& term) const {
    constexpr int kAtATime = 4;
    const Key key = entries[first].KeyOf();
    for (int64_t i = first;; i += kAtATime) {
      T terms[kAtATime] = {};
      int taken = 0;
#pragma unroll
      for (int j = 0; j < kAtATime; ++j) {
        if (i + j >= count || entries[i + j].KeyOf() != key) continue;
        terms[j] = term(TermOf(i + j));
        ++taken;
      }
#pragma unroll
      for (int j = 0; j < kAtATime; ++j) {
        if (j < taken) result = step(result, terms[j]);
      }
      if (taken < kAtATime) return result;
    }
  }
  /// The same of sums.
  template <class T, class Term>
  __device__ __forceinline__ T AddTo(T sum, int64_t first, const Term& term) const {
    return Meet(sum, first, [](T so_far, T x) { return scalar::Add(so_far, x); }, term);
  }
};

/// The entry of a term. places(t) is its place, or negative if it has none.
template <class Key, class Places>
struct EntryOfTerm {
  Places places;

  __device__ __forceinline__ SortEntry<Key> operator()(int64_t, int64_t t) const {
    return SortEntry<Key>::Make(static_cast<Key>(places(t)), t);
  }
};

/// use(terms) of `count` terms, at least one, sorted by their places in [0, num_places).
template <class Places, class Use>
void WithSortedTerms(const Place& place, int64_t count, int64_t num_places, const Places& places, const Use& use) {
  OpScratch scratch(place);
  const auto with = [&]<class Key>() {
    use(SortedTerms<Key>{Sorted<Key>(place, 1, count, EntryOfTerm<Key, Places>{places}, scratch), count});
  };
  // Twice as fast, where places and terms can be told apart by so many bits.
  if (count < UINT32_MAX && num_places < UINT32_MAX) {
    with.template operator()<uint32_t>();
  } else {
    with.template operator()<uint64_t>();
  }
}

}  // namespace repdl::cuda
