// SPDX-License-Identifier: MIT
// Terms that an index gives to rows or numbers, which take them in the order of the index, however threads share them.
#pragma once

#include <algorithm>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/index_terms.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Terms that are worth a fork.
constexpr int64_t kGrainOfTerms = Grain(16384);

/// With fewer threads, single numbers take their terms sooner than these are sorted.
constexpr int kThreadsWorthSorting = 4;

/// An upper limit, so that each bucket of a stable sort is written as a stream.
constexpr int64_t kMaxBuckets = 256;

/// Calls step(result, x, t) of rows: what their numbers are once those of term t have met them.
template <class T, class Step>
class TermsOfRows {
 public:
  TermsOfRows(const RowTerms<T>& args, const Step& step) : args_(args), step_(step) {}

  void Run() const {
    const int64_t threads = GetNumThreads();
    if (args_.outer * args_.terms * args_.width < kGrainOfTerms || threads == 1) {
      return RunAlone();
    }
    if (args_.outer < threads && RowsAscend()) {
      for (int64_t slice = 0; slice < args_.outer; ++slice) TakeAscending(slice);
      return;
    }
    // Pieces of a row are at least two cache lines, so that most of what is loaded is used.
    const int64_t most = std::max<int64_t>(args_.width / (2 * kLineOf<T>), 1);
    const int64_t pieces = std::min(most, (threads + args_.outer - 1) / args_.outer);
    if (args_.outer * pieces >= threads) {
      const int64_t lines = (args_.width + kLineOf<T> - 1) / kLineOf<T>;
      ParallelFor(args_.outer * pieces, [&](int64_t task) HWY_ATTR {
        const int64_t slice = task / pieces, piece = task % pieces;
        TakeSlices(slice, slice + 1, lines * piece / pieces * kLineOf<T>,
                   std::min(lines * (piece + 1) / pieces * kLineOf<T>, args_.width));
      });
    } else if (args_.width > 1 || threads >= kThreadsWorthSorting) {
      for (int64_t slice = 0; slice < args_.outer; ++slice) TakeSorted(slice);
    } else {
      RunAlone();
    }
  }

  /// In this thread.
  void RunAlone() const { TakeSlices(0, args_.outer, 0, args_.width); }

 private:
  void TakeSlices(int64_t begin, int64_t end, int64_t first, int64_t last) const {
    for (int64_t slice = begin; slice < end; ++slice) {
      TakeTerms(slice, args_.terms, first, last, [](int64_t i) { return i; });
    }
  }

  /// The terms term(0), term(1), …, in the columns from `first` to `last`.
  template <class Term>
  HWY_INLINE void TakeTerms(int64_t slice, int64_t count, int64_t first, int64_t last, const Term& term) const {
    if (args_.width == 1) {
      return TakeNumbers(slice, count, term);
    }
    for (int64_t i = 0; i < count;) {
      const int64_t row = args_.to[term(i)];
      int64_t end = i + 1;  // of the terms that meet in one row
      while (end < count && args_.to[term(end)] == row) ++end;
      if (row != args_.left_out) TakeRun(slice, row, first, last, end - i, [&](int64_t k) { return term(i + k); });
      i = end;
    }
  }

  /// Whether the terms come row by row, as those of a sorted matrix or of bags do, and no row has a thread's share of them.
  bool RowsAscend() const {
    const int64_t share = std::max<int64_t>(args_.terms / GetNumThreads(), 1);
    for (int64_t t = share; t < args_.terms; t += share) {
      if (args_.to[t] == args_.to[t - share]) return false;
    }
    return std::is_sorted(args_.to, args_.to + args_.terms);
  }

  /// A task takes neighbouring terms; those of one row stay together.
  void TakeAscending(int64_t slice) const {
    const auto start_of_row = [this](int64_t t) {
      while (t > 0 && t < args_.terms && args_.to[t] == args_.to[t - 1]) ++t;
      return t;
    };
    ParallelRanges(args_.terms, kGrainOfTerms / (4 * args_.width) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      const int64_t first = start_of_row(begin);
      TakeTerms(slice, start_of_row(end) - first, 0, args_.width, [first](int64_t i) { return first + i; });
    });
  }

  /// A stable counting sort of the terms into buckets of neighbouring rows; a task takes the terms of a bucket.
  void TakeSorted(int64_t slice) const {
    int shift = 0;
    while (args_.rows >> shift >= kMaxBuckets) ++shift;
    const int64_t buckets = (args_.rows >> shift) + 1;
    const int64_t chunks = std::min<int64_t>(GetNumThreads(), args_.terms);
    Scratch scratch;
    int64_t* const sorted = scratch.Get<int64_t>(args_.terms);
    int64_t* const next = scratch.Get<int64_t>(chunks * buckets);  // of each chunk, where a bucket's next term goes
    int64_t* const starts = scratch.Get<int64_t>(buckets + 1);
    std::fill(next, next + chunks * buckets, int64_t{0});
    const auto for_terms = [&](int64_t chunk, const auto& body) {
      int64_t* const own = next + chunk * buckets;
      for (int64_t t = args_.terms * chunk / chunks; t < args_.terms * (chunk + 1) / chunks; ++t) {
        if (args_.to[t] != args_.left_out) body(own[args_.to[t] >> shift]++, t);
      }
    };
    ParallelFor(chunks, [&](int64_t chunk) { for_terms(chunk, [](int64_t, int64_t) {}); });
    int64_t place = 0;
    for (int64_t bucket = 0; bucket < buckets; ++bucket) {
      starts[bucket] = place;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const int64_t count = next[chunk * buckets + bucket];
        next[chunk * buckets + bucket] = place;
        place += count;
      }
    }
    starts[buckets] = place;
    ParallelFor(chunks, [&](int64_t chunk) { for_terms(chunk, [sorted](int64_t at, int64_t t) { sorted[at] = t; }); });
    ParallelFor(buckets, [&](int64_t bucket) HWY_ATTR {
      const int64_t* const own = sorted + starts[bucket];
      TakeTerms(slice, starts[bucket + 1] - starts[bucket], 0, args_.width, [own](int64_t i) { return own[i]; });
    });
  }

  const T* Source(int64_t slice, int64_t t) const {
    return args_.source + (slice * args_.source_rows + (args_.from == nullptr ? t : args_.from[t])) * args_.width;
  }
  T* Output(int64_t slice, int64_t row) const { return args_.output + (slice * args_.rows + row) * args_.width; }

  /// Terms of a single number each.
  template <class Term>
  HWY_INLINE void TakeNumbers(int64_t slice, int64_t count, const Term& term) const {
    const hn::CappedTag<T, 1> one;
    const int64_t *const to = args_.to, *const from = args_.from;
    const int64_t left_out = args_.left_out;
    const T* const source = args_.source + slice * args_.source_rows;
    T* const output = args_.output + slice * args_.rows;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t t = term(i);
      if (to[t] == left_out) continue;
      T& result = output[to[t]];
      result = hn::GetLane(step_(Set(one, result), Set(one, source[from == nullptr ? t : from[t]]), t));
    }
  }

  /// Terms of one row. Its results stay in registers for a block of columns.
  template <class Term>
  HWY_INLINE void TakeRun(int64_t slice, int64_t row, int64_t first, int64_t last, int64_t count,
                          const Term& term) const {
    constexpr int64_t kN = kLanesOf<T>;
    T* const output = Output(slice, row);
    int64_t column = first;
    for (; column + 4 * kN <= last; column += 4 * kN) {
      const TagOf<T> d;
      T* const at = output + column;
      VecOf<T> r0 = LoadU(d, at), r1 = LoadU(d, at + kN), r2 = LoadU(d, at + 2 * kN), r3 = LoadU(d, at + 3 * kN);
      for (int64_t k = 0; k < count; ++k) {
        const int64_t t = term(k);
        const T* const source = Source(slice, t) + column;
        r0 = step_(r0, LoadU(d, source), t);
        r1 = step_(r1, LoadU(d, source + kN), t);
        r2 = step_(r2, LoadU(d, source + 2 * kN), t);
        r3 = step_(r3, LoadU(d, source + 3 * kN), t);
      }
      StoreU(r0, d, at), StoreU(r1, d, at + kN), StoreU(r2, d, at + 2 * kN), StoreU(r3, d, at + 3 * kN);
    }
    for (; column < last; column += kN) {
      const int64_t columns = std::min(last - column, kN);
      VecOf<T> result = LoadN(output + column, columns);
      for (int64_t k = 0; k < count; ++k) {
        const int64_t t = term(k);
        result = step_(result, LoadN(Source(slice, t) + column, columns), t);
      }
      StoreN<T>(result, output + column, columns);
    }
  }

  const RowTerms<T>& args_;
  const Step& step_;
};

/// Calls take(to, from) for each term, by where it goes in the output and lies in the source; those of one number in order.
template <class T, class Take>
void ForTermsOfNumbers(const NumberTerms<T>& args, const Take& take) {
  // A task has some columns of a slice: as many as the threads leave it, as the index is read row by row.
  const int64_t wanted = (GetNumThreads() + args.outer - 1) / args.outer;
  const int64_t length = std::max(args.inner / wanted, std::min(args.inner, 2 * kLineOf<T>));
  const int64_t pieces = (args.inner + length - 1) / length, slice = args.terms * args.inner;
  ParallelRanges(args.outer * pieces, kGrainOfTerms / std::max<int64_t>(args.terms * length, 1) + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
                   for (int64_t task = begin; task < end; ++task) {
                     const int64_t o = task / pieces, first = task % pieces * length;
                     const int64_t last = std::min(first + length, args.inner);
                     for (int64_t t = 0; t < args.terms; ++t) {
                       if (args.kept != nullptr && args.kept[t] == 0) continue;
                       const int64_t at = o * slice + t * args.inner;
                       for (int64_t i = first; i < last; ++i) {
                         take((o * args.rows + args.index[at + i]) * args.inner + i, at + i);
                       }
                     }
                   }
                 });
}

/// Calls step(result, x, t) of numbers.
template <class T, class Step>
void TakeTermsOfNumbers(const NumberTerms<T>& args, const Step& step) {
  if (args.inner == 1 && args.kept == nullptr) {
    const auto take_slices = [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const RowTerms<T> row = args.Row(o);
        const TermsOfRows<T, Step> terms(row, step);
        args.outer < GetNumThreads() ? terms.Run() : terms.RunAlone();
      }
    };
    if (args.outer < GetNumThreads()) return take_slices(0, args.outer);
    return ParallelRanges(args.outer, kGrainOfTerms / std::max<int64_t>(args.terms, 1) + 1, take_slices);
  }
  const hn::CappedTag<T, 1> one;
  ForTermsOfNumbers(args, [&](int64_t to, int64_t from) HWY_ATTR {
    T& result = args.output[to];
    result = hn::GetLane(step(Set(one, result), Set(one, args.source[from]), from));
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
