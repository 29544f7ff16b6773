// SPDX-License-Identifier: MIT
// Sums over some dimensions of a strided tensor.
#pragma once

#include "base/parallel.h"
#include "drivers/long_sum_cpu-inl.h"
#include "drivers/map_cpu-inl.h"
#include "drivers/narrow_cpu-inl.h"
#include "drivers/reduce.h"
#include "drivers/row_cpu-inl.h"
#include "drivers/rows_as_columns_cpu-inl.h"
#include "drivers/sum_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Numbers from one on, as a sum reads them: a vector of them from place j on, the numbers from another place on, or n of
/// them side by side, in place where they lie so, else in the buffer.
template <class T>
struct StoredRow {
  using Number = T;

  const T* x;

  HWY_INLINE VecOf<T> operator()(int64_t j, int64_t count) const { return LoadN(x + j, count); }
  StoredRow From(int64_t offset) const { return {x + offset}; }
  const T* InLine(int64_t stride, int64_t n, T* buffer) const { return SideBySide(x, stride, n, buffer); }
};
template <class T>
StoredRow(const T*) -> StoredRow<T>;

/// The same of numbers of 16 bits, which are InHalves.
template <class Halves>
struct HalvesRow {
  using Number = float;

  const uint16_t* x;

  HWY_INLINE Vec operator()(int64_t j, int64_t count) const { return Halves::LoadN(x + j, count); }
  HalvesRow From(int64_t offset) const { return {x + offset}; }
  const float* InLine(int64_t stride, int64_t n, float* buffer) const {
    return NumbersSideBySide(x, Halves::kType, 0, stride, n, buffer);
  }
};

/// Whether terms begin, begin + 1, … of the reduced loops are of one run of the innermost.
inline HWY_MAYBE_UNUSED bool AreInOneRun(const Loops& reduced, int64_t begin, int64_t count) {
  const int64_t inner = reduced.InnerSize(), column = reduced.shape.size() <= 1 ? begin : begin % inner;
  return column + count <= inner;
}

/// Terms begin, begin + 1, … of the reduced loops, side by side: in place where they lie so, else in the buffer
/// (kSumChunk numbers).
template <class Row, class T = typename Row::Number>
HWY_INLINE const T* GatherTerms(const Row& row, const Loops& reduced, int64_t begin, int64_t count, T* buffer) {
  const int64_t inner = reduced.InnerSize(), stride = reduced.InnerStride();
  if (AreInOneRun(reduced, begin, count)) return row.From(reduced.Offset(begin)).InLine(stride, count, buffer);
  for (int64_t done = 0; done < count;) {
    const int64_t n = std::min(count - done, inner - (begin + done) % inner);
    const T* const run = row.From(reduced.Offset(begin + done)).InLine(stride, n, buffer + done);
    if (run != buffer + done) std::copy_n(run, n, buffer + done);
    done += n;
  }
  return buffer;
}

/// The sum of one chunk of terms.
template <class Row, class T = typename Row::Number>
HWY_INLINE T SumChunkOfTerms(const Row& row, const Loops& reduced, int64_t begin, int64_t count) {
  if (reduced.InnerStride() == 1 && AreInOneRun(reduced, begin, count)) {
    return SumChunkOf<T>(count, row.From(reduced.Offset(begin)));
  }
  HWY_ALIGN T buffer[kSumChunk];
  return SumChunk(GatherTerms(row, reduced, begin, count, buffer), count);
}

#include "drivers/sum_end.row.h"

template <class T>
HWY_INLINE T EndSum(T sum, const SumEnd& end) {
  return EndOfSum(Row<T>(), sum, end);
}

/// Rows [begin, end) from left to right. One chain is bound by the latency of an addition, so eight rows run side by
/// side; the last group repeats its last row.
template <class Row, class T = typename Row::Number>
void SumRowsInSequence(const ReduceArgs& args, const Row& numbers, int64_t begin, int64_t end) {
  constexpr int kRows = 8;
  constexpr int64_t kTerms = 512;
  const int64_t n = args.reduced.Count();
  HWY_ALIGN T buffers[kRows][kTerms];
  for (int64_t r = begin; r < end; r += kRows) {
    T acc[kRows] = {};
    for (int64_t first = 0; first < n; first += kTerms) {
      const int64_t count = std::min(kTerms, n - first);
      const T* terms[kRows];
      for (int q = 0; q < kRows; ++q) {
        const int64_t row = std::min(r + q, end - 1);
        terms[q] = GatherTerms(numbers.From(args.kept.Offset(row)), args.reduced, first, count, buffers[q]);
      }
      for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 8
        for (int q = 0; q < kRows; ++q) acc[q] = acc[q] + terms[q][i];
      }
    }
    for (int64_t q = 0; q < std::min<int64_t>(kRows, end - r); ++q) args.Out<T>()[r + q] = EndSum(acc[q], args.end);
  }
}

/// Rows whose terms lie side by side, or anyhow.
template <class Row, class T = typename Row::Number>
void ReduceRows(const ReduceArgs& args, const Row& numbers) {
  const int64_t num_rows = args.kept.Count(), n = args.reduced.Count();
  if (IsLongSum(n, args.order) && num_rows < 4 * GetNumThreads()) {
    // Few long rows: the chunks are what runs in parallel.
    for (int64_t r = 0; r < num_rows; ++r) {
      const Row row = numbers.From(args.kept.Offset(r));
      const T sum = SumChunksOnThreads<T>(
          n, [&](int64_t first, int64_t count) HWY_ATTR { return SumChunkOfTerms(row, args.reduced, first, count); });
      args.Out<T>()[r] = EndSum(sum, args.end);
    }
    return;
  }
  ParallelRanges(num_rows, 32768 / std::max<int64_t>(n, 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    if (args.order == Order::kSequential) return SumRowsInSequence(args, numbers, begin, end);
    // Short sums would feel the walk over chunks, and a call.
    const bool is_one_run =
        n > 0 && n <= kSumChunk && args.reduced.InnerStride() == 1 && AreInOneRun(args.reduced, 0, n);
    for (int64_t r = begin; r < end; ++r) {
      const Row row = numbers.From(args.kept.Offset(r));
      const auto chunk = [&](int64_t first, int64_t count)
                             HWY_ATTR { return SumChunkOfTerms(row, args.reduced, first, count); };
      args.Out<T>()[r] = EndSum(is_one_run ? SumChunkOf<T>(n, row) : SumChunks<T>(n, chunk), args.end);
    }
  });
}

/// Columns that lie side by side are summed a strip at a time, this wide at most: its lanes then stay in the L2 cache.
inline constexpr int64_t kMaxStrip = 1024;
/// Rows that are added at a time, so that a sum is loaded and stored once for all of them.
inline constexpr int kRowsAtOnce = 8;

/// to[j] = from[j] + rows[0](j) + … + rows[kRows - 1](j), from left to right; a null `from` stands for +0.
template <int kRows, class Row, class T = typename Row::Number>
HWY_INLINE void AddRows(const Row* rows, int64_t cols, const T* from, T* to) {
  const TagOf<T> d;
  ForVectors<T>(cols, [&](int64_t j, int64_t count) HWY_ATTR {
    VecOf<T> acc = from == nullptr ? Zero(d) : Load(d, from + j);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) acc = Add(acc, rows[r](j, count));
    Store(acc, d, to + j);
  });
}

/// out[j] = row_at(0)(j) + row_at(1)(j) + … for j < cols <= kMaxStrip, n terms from left to right.
template <class T, class RowAt>
HWY_INLINE void SumColumnsInSequence(int64_t n, int64_t cols, const RowAt& row_at, T* out) {
  HWY_ALIGN T acc[kMaxStrip + kLanesOf<T>];
  std::fill_n(acc, cols, T{0});
  decltype(row_at(0)) rows[kRowsAtOnce];
  int64_t i = 0;
  for (; i + kRowsAtOnce <= n; i += kRowsAtOnce) {
    for (int r = 0; r < kRowsAtOnce; ++r) rows[r] = row_at(i + r);
    AddRows<kRowsAtOnce>(rows, cols, acc, acc);
  }
  for (; i < n; ++i) {
    rows[0] = row_at(i);
    AddRows<1>(rows, cols, acc, acc);
  }
  std::copy_n(acc, cols, out);
}

/// The fold is done in two steps: kGroups sums, each of every kGroups-th lane, and then their fold.
inline constexpr int64_t kGroups = 16;

/// Sum(lane) for lanes 0 to kGroups - 1 of a chunk: the fold of the lanes lane, lane + kGroups, lane + 2 kGroups, …, for
/// kVecs vectors of columns, which stays in registers. row_at(i) is row i of n, and row_at(i)(j, count) a vector of it.
template <class T, int kVecs, class RowAt>
struct ColumnFold {
  static constexpr int64_t kLanes = kLanesOf<T>;

  int64_t n;
  int64_t cols;  // from the first column on; less than a vector only if kVecs is 1
  const RowAt& row_at;

  template <int64_t kStep>
  HWY_INLINE void Sum(int64_t lane, int64_t j, VecElementOf<T>* sum) const {
    if constexpr (kStep == kSumLanes) {
      const auto count = [&](int v) { return kVecs == 1 ? cols - j : (kVecs - v) * kLanes; };
      const auto first = row_at(lane);
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) sum[v] = first(j + v * kLanes, count(v));
      for (int64_t i = lane + kSumLanes; i < n; i += kSumLanes) {
        const auto row = row_at(i);
#pragma GCC unroll 8
        for (int v = 0; v < kVecs; ++v) sum[v] = Add(sum[v], row(j + v * kLanes, count(v)));
      }
    } else {
      Sum<2 * kStep>(lane, j, sum);
      if (lane + kStep >= n) return;  // lanes without a term are +0 and change nothing
      VecElementOf<T> right[kVecs];
      Sum<2 * kStep>(lane + kStep, j, right);
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) sum[v] = Add(sum[v], right[v]);
    }
  }
  HWY_INLINE int64_t Store(int64_t lane, int64_t j, T* out) const {
    for (; j + (kVecs == 1 ? 1 : kVecs * kLanes) <= cols; j += kVecs * kLanes) {
      VecElementOf<T> sum[kVecs];
      Sum<kGroups>(lane, j, sum);
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) hn::Store(sum[v], TagOf<T>(), out + j + v * kLanes);
    }
    return j;
  }
};

/// Sum(lane) of the n rows of a chunk, lane < kGroups, for columns [0, cols), to `out`, which has room for whole vectors.
template <class T, class RowAt>
HWY_INLINE void SumGroup(int64_t lane, int64_t n, int64_t cols, const RowAt& row_at, T* out) {
  constexpr int kVecs = HWY_TARGET <= HWY_AVX3 ? 8 : 4;  // with three sums of each under way: 24 or 12 registers
  const int64_t j = ColumnFold<T, kVecs, RowAt>{n, cols, row_at}.Store(lane, 0, out);
  ColumnFold<T, 1, RowAt>{n, cols, row_at}.Store(lane, j, out);
}

/// The sum of a chunk of n rows, from those of its groups, which lie `stride` apart, for columns [0, width), whole vectors.
template <class T>
HWY_INLINE void JoinGroups(int64_t n, int64_t width, const T* groups, int64_t stride, T* out) {
  const TagOf<T> d;
  const int64_t used = std::min(n, kGroups);
  for (int64_t j = 0; j < width; j += kLanesOf<T>) {
    VecElementOf<T> sum[kGroups];
    for (int64_t lane = 0; lane < kGroups; ++lane)
      sum[lane] = lane < used ? Load(d, groups + lane * stride + j) : Zero(d);
#pragma GCC unroll 8
    for (int64_t h = kGroups / 2; h >= 1; h /= 2) {
#pragma GCC unroll 8
      for (int64_t lane = 0; lane < h; ++lane) sum[lane] = Add(sum[lane], sum[lane + h]);
    }
    // The lanes began with their first term instead of +0 plus it: only a sum of nothing but -0 shows that.
    Store(Add(sum[0], Zero(d)), d, out + j);
  }
}

/// One chunk, rows [begin, end) of columns [0, cols), out of the caches. `groups` has room for kGroups rows of `width`;
/// the sums end in the first.
template <class T, class RowAt>
HWY_INLINE void SumCachedChunk(int64_t begin, int64_t end, int64_t cols, const RowAt& row_at, int64_t width,
                               T* groups) {
  const auto row = [&](int64_t i) HWY_ATTR { return row_at(begin + i); };
  const int64_t n = end - begin;
  for (int64_t lane = 0; lane < std::min(n, kGroups); ++lane) SumGroup(lane, n, cols, row, groups + lane * width);
  JoinGroups(n, width, groups, width, groups);
}

/// The same out of memory: row by row, as the rows lie there. `lanes` has room for kSumLanes rows of `width`; the sums
/// end in the first.
template <class T, class RowAt>
HWY_INLINE void SumStreamedChunk(int64_t begin, int64_t end, int64_t cols, const RowAt& row_at, int64_t width,
                                 T* lanes) {
  const TagOf<T> d;
  for (int64_t first = begin; first < end; first += kRowsAtOnce * kSumLanes) {
    for (int64_t l = 0; l < std::min(kSumLanes, end - first); ++l) {
      T* const lane = lanes + l * width;
      const T* from = first == begin ? nullptr : lane;
      decltype(row_at(0)) rows[kRowsAtOnce];
      if (first + l + (kRowsAtOnce - 1) * kSumLanes < end) {
        for (int r = 0; r < kRowsAtOnce; ++r) rows[r] = row_at(first + l + r * kSumLanes);
        AddRows<kRowsAtOnce>(rows, cols, from, lane);
        continue;
      }
      for (int64_t i = first + l; i < end; i += kSumLanes, from = lane) {
        rows[0] = row_at(i);
        AddRows<1>(rows, cols, from, lane);
      }
    }
  }
  // Lanes without a term are +0 and change nothing.
  const int64_t used = std::min(kSumLanes, end - begin);
  for (int64_t h = kSumLanes / 2; h >= 1; h /= 2) {
    for (int64_t lane = 0; lane < h && lane + h < used; ++lane) {
      for (int64_t j = 0; j < width; j += kLanesOf<T>) {
        T* const left = lanes + lane * width + j;
        Store(Add(Load(d, left), Load(d, left + h * width)), d, left);
      }
    }
  }
}

/// Bytes from which on terms are taken to come from memory.
inline constexpr int64_t kStreamedBytes = int64_t{4} << 20;

/// Visits the chunks of sums of columns. sum_chunk(begin, end, width, sums) sums rows [begin, end) in `sums`, which has
/// room for `room` rows of `width`, whole vectors; the sums end in the first.
template <class T, class SumChunkTo>
class ColumnSumsVisitor {
 public:
  ColumnSumsVisitor(int64_t cols, int64_t room, int num_levels, const SumChunkTo& sum_chunk, T* out)
      : sum_chunk_(sum_chunk),
        cols_(cols),
        width_((cols + kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>),
        sums_(scratch_.Get<T>(room * width_)),
        waiting_(scratch_.Get<T>(num_levels * width_)),
        out_(out) {}

  void Chain(int64_t begin, int64_t end) { sum_chunk_(begin, end, width_, sums_); }
  void TakeIn(int level) {
    const TagOf<T> d;
    const T* const earlier = waiting_ + level * width_;
    for (int64_t j = 0; j < width_; j += kLanesOf<T>) {
      Store(Add(Load(d, earlier + j), Load(d, sums_ + j)), d, sums_ + j);
    }
  }
  void Park(int level) { std::copy_n(sums_, width_, waiting_ + level * width_); }
  void End() { std::copy_n(sums_, cols_, out_); }

 private:
  const SumChunkTo& sum_chunk_;
  Scratch scratch_;
  int64_t cols_, width_;
  T *sums_, *waiting_;
  T* out_;
};

/// The tree over chunks of `chunk` rows each.
template <class T, class SumChunkTo>
HWY_INLINE void SumChunksOfColumns(int64_t n, int64_t cols, int64_t chunk, int64_t room, const SumChunkTo& sum_chunk,
                                   T* out) {
  if (n == 0) {
    std::fill_n(out, cols, T{0});
    return;
  }
  const Chunks chunks(n, chunk);
  ColumnSumsVisitor<T, SumChunkTo> visitor(cols, room, NumLevels(chunks.count), sum_chunk, out);
  WalkChunks(chunks, visitor);
}

/// Sums row_at(i)(j, count), a vector from column j on, over i in [0, n), for columns [0, cols), cols <= kMaxStrip, in
/// order `blocked`. With chunks of kSumLanes the rows are the lanes of chunks.
template <class T, class RowAt>
HWY_INLINE void SumColumnsOf(int64_t n, int64_t cols, const RowAt& row_at, T* out, int64_t chunk = kSumChunk) {
  SumChunksOfColumns(
      n, cols, chunk, kGroups,
      [&](int64_t begin, int64_t end, int64_t width, T* sums)
          HWY_ATTR { SumCachedChunk(begin, end, cols, row_at, width, sums); },
      out);
}

/// Sums row_at(i)(j) over i in [0, n), for j in [0, cols), cols <= kMaxStrip, in order `blocked`.
template <class T, class RowAt>
HWY_INLINE void SumColumnsInBlocks(int64_t n, int64_t cols, bool streamed, const RowAt& row_at, T* out) {
  if (!streamed) return SumColumnsOf(n, cols, row_at, out);
  SumChunksOfColumns(
      n, cols, kSumChunk, kSumLanes,
      [&](int64_t begin, int64_t end, int64_t width, T* lanes)
          HWY_ATTR { SumStreamedChunk(begin, end, cols, row_at, width, lanes); },
      out);
}

template <class Row, class T = typename Row::Number>
void ReduceColumns(const ReduceArgs& args, const Row& numbers) {
  const int64_t cols = args.kept.InnerSize(), n = args.reduced.Count();
  const int64_t num_outer = args.kept.Count() / cols;
  const bool streamed = num_outer * cols * n * static_cast<int64_t>(sizeof(*numbers.x)) >= kStreamedBytes;
  // Strips as wide as leaves each thread one.
  const int64_t share = cols * num_outer / GetNumThreads();
  const int64_t strip = std::clamp((share + 63) / 64 * 64, int64_t{64}, kMaxStrip);
  const int64_t strips = (cols + strip - 1) / strip;
  const int64_t strip_work = std::max<int64_t>(n * std::min(cols, strip), 1);
  ParallelRanges(num_outer * strips, 32768 / strip_work + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t outer = task / strips, j = task % strips * strip;
      const Row strip_row = numbers.From(args.kept.Offset(outer * cols) + j);
      T* const out = args.Out<T>() + outer * cols + j;
      const int64_t count = std::min(strip, cols - j);
      const auto row_at = [&](int64_t i) HWY_ATTR { return strip_row.From(args.reduced.Offset(i)); };
      if (args.order == Order::kSequential) {
        SumColumnsInSequence(n, count, row_at, out);
      } else {
        SumColumnsInBlocks(n, count, streamed, row_at, out);
      }
      for (int64_t q = 0; q < count; ++q) out[q] = EndSum(out[q], args.end);
    }
  });
}

template <class Row, class T = typename Row::Number>
void ReduceRowsAsColumns(const ReduceArgs& args, const Row& numbers) {
  const int64_t n = args.reduced.Count();
  const auto terms = [&](int64_t r, T* buffer) HWY_ATTR {
    return GatherTerms(numbers.From(args.kept.Offset(r)), args.reduced, 0, n, buffer);
  };
  ForRowsAsColumns<T>(args.kept.Count(), n, terms, [&](int64_t first, int64_t count, const T* columns) HWY_ATTR {
    T* const out = args.Out<T>() + first;
    const auto row_at = [&](int64_t i) HWY_ATTR { return StoredRow<T>{columns + i * kColumnStep}; };
    if (args.order == Order::kSequential) {
      SumColumnsInSequence(n, count, row_at, out);
    } else {
      SumColumnsOf(n, count, row_at, out);
    }
    for (int64_t r = 0; r < count; ++r) out[r] = EndSum(out[r], args.end);
  });
}

template <class Row>
void Reduce(const ReduceArgs& args, const Row& numbers) {
  const bool terms_side_by_side = args.reduced.InnerStride() == 1 && args.reduced.InnerSize() > 1;
  const bool columns_side_by_side = args.kept.InnerStride() == 1 && args.kept.InnerSize() >= 4;
  if (columns_side_by_side && !terms_side_by_side) {
    ReduceColumns(args, numbers);
  } else if (AreRowsAsColumns<typename Row::Number>(args.kept.Count(), args.reduced.Count())) {
    ReduceRowsAsColumns(args, numbers);
  } else {
    ReduceRows(args, numbers);
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
