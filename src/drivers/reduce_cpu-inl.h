// SPDX-License-Identifier: MIT
// Sums over some dimensions of a strided tensor.
#pragma once

#include "base/parallel.h"
#include "drivers/map_cpu-inl.h"
#include "drivers/reduce.h"
#include "drivers/sum_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Terms begin, begin + 1, … of the reduced loops, side by side: in place where they lie so, else copied
/// to the buffer (kSumChunk floats).
HWY_INLINE const float* GatherTerms(const float* x, const Loops& reduced, int64_t begin, int64_t count, float* buffer) {
  const int64_t inner = reduced.InnerSize(), stride = reduced.InnerStride();
  const int64_t column = begin % inner;
  if (column + count <= inner) return SideBySide(x + reduced.Offset(begin), stride, count, buffer);
  for (int64_t done = 0; done < count;) {
    const int64_t n = std::min(count - done, inner - (begin + done) % inner);
    const float* from = x + reduced.Offset(begin + done);
    for (int64_t i = 0; i < n; ++i) buffer[done + i] = from[i * stride];
    done += n;
  }
  return buffer;
}

HWY_INLINE float EndSum(float sum, const SumEnd& end) {
  if (end.factor != 1.0f) sum = sum * end.factor;
  return end.divisor == 1.0f ? sum : sum / end.divisor;
}

/// Rows [begin, end) from left to right. One chain is bound by the latency of an addition, so eight rows run side by
/// side; the last group repeats its last row.
inline void SumRowsInSequence(const ReduceArgs& args, int64_t begin, int64_t end) {
  constexpr int kRows = 8;
  constexpr int64_t kTerms = 512;
  const int64_t n = args.reduced.Count();
  HWY_ALIGN float buffers[kRows][kTerms];
  for (int64_t r = begin; r < end; r += kRows) {
    float acc[kRows] = {};
    for (int64_t first = 0; first < n; first += kTerms) {
      const int64_t count = std::min(kTerms, n - first);
      const float* terms[kRows];
      for (int q = 0; q < kRows; ++q) {
        const int64_t row = std::min(r + q, end - 1);
        terms[q] = GatherTerms(args.x + args.kept.Offset(row), args.reduced, first, count, buffers[q]);
      }
      for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 8
        for (int q = 0; q < kRows; ++q) acc[q] = acc[q] + terms[q][i];
      }
    }
    for (int64_t q = 0; q < std::min<int64_t>(kRows, end - r); ++q) args.out[r + q] = EndSum(acc[q], args.end);
  }
}

/// Rows whose terms lie side by side, or anyhow.
inline void ReduceRows(const ReduceArgs& args) {
  const int64_t num_rows = args.kept.Count(), n = args.reduced.Count();
  const int64_t num_chunks = (n + kSumChunk - 1) / kSumChunk;
  if (args.order == Order::kBlocked && num_chunks > 8 && num_rows < 4 * GetNumThreads()) {
    // Few long rows: the chunks are what runs in parallel.
    Scratch scratch;
    float* const values = scratch.Get<float>(num_chunks);
    for (int64_t r = 0; r < num_rows; ++r) {
      const float* const row = args.x + args.kept.Offset(r);
      ParallelRanges(num_chunks, 8, [&](int64_t begin, int64_t end) HWY_ATTR {
        HWY_ALIGN float buffer[kSumChunk];
        for (int64_t c = begin; c < end; ++c) {
          const int64_t count = std::min(kSumChunk, n - c * kSumChunk);
          values[c] = SumChunk(GatherTerms(row, args.reduced, c * kSumChunk, count, buffer), count);
        }
      });
      SumTree tree;
      for (int64_t c = 0; c < num_chunks; ++c) tree.Push(values[c]);
      args.out[r] = EndSum(tree.Total(), args.end);
    }
    return;
  }
  ParallelRanges(num_rows, 32768 / std::max<int64_t>(n, 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    if (args.order == Order::kSequential) return SumRowsInSequence(args, begin, end);
    HWY_ALIGN float buffer[kSumChunk];
    for (int64_t r = begin; r < end; ++r) {
      const float* const row = args.x + args.kept.Offset(r);
      const float sum = SumTerms(n, args.order, [&](int64_t first, int64_t count) HWY_ATTR {
        return GatherTerms(row, args.reduced, first, count, buffer);
      });
      args.out[r] = EndSum(sum, args.end);
    }
  });
}

/// Columns [0, cols) that lie side by side are summed a strip at a time: its lanes then stay in the caches.
inline constexpr int64_t kColumnStrip = 128;
/// Rows that one lane takes in at a time, so that it is loaded and stored once for all of them.
inline constexpr int kRowsAtOnce = 8;

/// to[j] = from[j] + rows[0][j] + … + rows[kRows - 1][j], from left to right; a null `from` stands for +0.
template <int kRows>
HWY_INLINE void AddRows(const float* const* rows, int64_t cols, const float* from, float* to) {
  const FloatTag d;
  ForVectors(cols, [&](int64_t j, int64_t count) HWY_ATTR {
    Vec acc = from == nullptr ? Zero(d) : Load(d, from + j);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) acc = Add(acc, LoadN(rows[r] + j, count));
    Store(acc, d, to + j);
  });
}

/// Sums x[i * stride + j] over i in [0, n), for j in [0, cols), cols <= kColumnStrip; `term_at(i)` is where row i lies.
template <class TermAt>
HWY_INLINE void SumColumns(int64_t n, int64_t cols, Order order, const TermAt& term_at, float* out) {
  const FloatTag d;
  if (order == Order::kSequential) {
    HWY_ALIGN float acc[kColumnStrip + kLanes] = {};
    const float* rows[kRowsAtOnce];
    int64_t i = 0;
    for (; i + kRowsAtOnce <= n; i += kRowsAtOnce) {
      for (int r = 0; r < kRowsAtOnce; ++r) rows[r] = term_at(i + r);
      AddRows<kRowsAtOnce>(rows, cols, acc, acc);
    }
    for (; i < n; ++i) {
      rows[0] = term_at(i);
      AddRows<1>(rows, cols, acc, acc);
    }
    std::copy_n(acc, cols, out);
    return;
  }
  const int64_t width = (cols + kLanes - 1) / kLanes * kLanes;
  const int64_t num_chunks = (n + kSumChunk - 1) / kSumChunk;
  Scratch scratch;
  float* const lanes = scratch.Get<float>(kSumLanes * width);
  float* const waiting = scratch.Get<float>(NumLevels(num_chunks) * width);
  std::fill(out, out + cols, 0.0f);
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    const int64_t begin = chunk * kSumChunk, end = std::min(n, begin + kSumChunk);
    const int64_t used = std::min(kSumLanes, end - begin);
    for (int64_t first = begin; first < end; first += kRowsAtOnce * kSumLanes) {
      for (int64_t l = 0; l < std::min(kSumLanes, end - first); ++l) {
        float* const lane = lanes + l * width;
        const float* from = first == begin ? nullptr : lane;
        const float* rows[kRowsAtOnce];
        if (first + l + (kRowsAtOnce - 1) * kSumLanes < end) {
          for (int r = 0; r < kRowsAtOnce; ++r) rows[r] = term_at(first + l + r * kSumLanes);
          AddRows<kRowsAtOnce>(rows, cols, from, lane);
          continue;
        }
        for (int64_t i = first + l; i < end; i += kSumLanes, from = lane) {
          rows[0] = term_at(i);
          AddRows<1>(rows, cols, from, lane);
        }
      }
    }
    // Lanes without a term are +0 and change nothing.
    for (int64_t h = kSumLanes / 2; h >= 1; h /= 2) {
      for (int64_t lane = 0; lane < h && lane + h < used; ++lane) {
        for (int64_t j = 0; j < width; j += kLanes) {
          float* const left = lanes + lane * width + j;
          Store(Add(Load(d, left), Load(d, left + h * width)), d, left);
        }
      }
    }
    const bool last = chunk + 1 == num_chunks;
    ForVectors(cols, [&](int64_t j, int64_t count) HWY_ATTR {
      Vec value = Load(d, lanes + j);
      TakeIn(chunk, last, [&](int level) HWY_ATTR { value = Add(Load(d, waiting + level * width + j), value); });
      if (last) {
        StoreN(value, out + j, count);
      } else {
        Store(value, d, waiting + Park(chunk) * width + j);
      }
    });
  }
}

inline void ReduceColumns(const ReduceArgs& args) {
  const int64_t cols = args.kept.InnerSize(), n = args.reduced.Count();
  const int64_t num_outer = args.kept.Count() / cols;
  const int64_t strips = (cols + kColumnStrip - 1) / kColumnStrip;
  const int64_t strip_work = std::max<int64_t>(n * std::min(cols, kColumnStrip), 1);
  ParallelRanges(num_outer * strips, 32768 / strip_work + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t outer = task / strips, j = task % strips * kColumnStrip;
      const float* const x = args.x + args.kept.Offset(outer * cols) + j;
      float* const out = args.out + outer * cols + j;
      const int64_t count = std::min(kColumnStrip, cols - j);
      if (args.reduced.shape.size() <= 1) {
        const int64_t stride = args.reduced.InnerStride();
        SumColumns(n, count, args.order, [&](int64_t i) HWY_ATTR { return x + i * stride; }, out);
      } else {
        SumColumns(n, count, args.order, [&](int64_t i) HWY_ATTR { return x + args.reduced.Offset(i); }, out);
      }
      for (int64_t q = 0; q < count; ++q) out[q] = EndSum(out[q], args.end);
    }
  });
}

inline void Reduce(const ReduceArgs& args) {
  const bool terms_side_by_side = args.reduced.InnerStride() == 1 && args.reduced.InnerSize() > 1;
  const bool columns_side_by_side = args.kept.InnerStride() == 1 && args.kept.InnerSize() >= 4;
  if (columns_side_by_side && !terms_side_by_side) {
    ReduceColumns(args);
  } else {
    ReduceRows(args);
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
