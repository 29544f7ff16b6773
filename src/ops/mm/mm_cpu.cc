// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/dot_cpu-inl.h"
#include "drivers/small_cpu-inl.h"
#include "ops/mm/mm_kernel.h"
#include "ops/mm/mm_parts-inl.h"
#include "ops/mm/products_of_lanes_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

REPDL_MM_PARTS(, float)
REPDL_MM_PARTS(, double)

/// Columns [j0, j1) of a product of few rows or terms, as far as whole vectors go; returns how many are done.
template <class T>
int64_t RunSkinny(int64_t m, int64_t j0, int64_t j1, const Chunks& chunks, const MatrixOf<T>& a, const MatrixOf<T>& b,
                  const MatrixSink<T>& sink) {
  if (m > MaxSkinnyRows(j1 - j0, chunks.num_terms, b)) return 0;
  const bool direct = sink.col_stride == 1, has_bias = sink.row_bias != nullptr || sink.col_bias != nullptr;
  // Of many rows, what a sweep gives has left the nearest cache: it should need no second look.
  if (m > kTileRows && chunks.num_terms <= kMaxSweptTerms && (!direct || has_bias)) return 0;
  Scratch scratch;
  T* const c = direct ? sink.c + j0 : scratch.Get<T>(m * (j1 - j0));
  const int64_t stride = direct ? sink.row_stride : j1 - j0;
  const int64_t done = SkinnyProduct<T>(m, j1 - j0, chunks.num_terms, chunks.length, a,
                                        {b.At(0, j0), b.row_stride, b.col_stride}, c, stride);
  if (direct && !has_bias) return done;
  for (int64_t i = 0; i < m; ++i) {
    const T* const from = c + i * stride;
    T* const to = sink.c + i * sink.row_stride + j0 * sink.col_stride;
    for (int64_t j = 0; j < done; ++j) {
      T value = from[j];
      if (sink.row_bias != nullptr) value = value + sink.row_bias[i];
      if (sink.col_bias != nullptr) value = value + sink.col_bias[j0 + j];
      to[j * sink.col_stride] = value;
    }
  }
  return done;
}

/// Columns [j0, j1) of a product, one element after the other.
template <class T>
void RunDots(int64_t m, int64_t j0, int64_t j1, const Chunks& chunks, const MatrixOf<T>& a, const MatrixOf<T>& b,
             const MatrixSink<T>& sink) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = j0; j < j1; ++j) {
      T value = Dot(chunks, a.At(i, 0), a.col_stride, b.At(0, j), b.row_stride);
      if (sink.row_bias != nullptr) value = value + sink.row_bias[i];
      if (sink.col_bias != nullptr) value = value + sink.col_bias[j];
      sink.c[i * sink.row_stride + j * sink.col_stride] = value;
    }
  }
}

/// A batch of products of one element, of rows whose numbers lie side by side.
template <class T>
void RunManyDots(const MmArgs& args, const Chunks& chunks, const T* a, const T* b) {
  T* const c = static_cast<T*>(args.c);
  const auto put = [&](int64_t i, T value) {
    c[i] = args.bias == nullptr ? value : value + *static_cast<const T*>(args.bias);
  };
  ParallelRanges(args.batch, 16384 / (args.k + 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    ManyDots<T>(
        chunks, begin, end, [&](int64_t i) { return a + args.a_batch.Offset(i); },
        [&](int64_t i) { return b + args.b_batch.Offset(i); }, put);
  });
}

template <class T>
void Run(const MmArgs& args) {
  int64_t m = args.m, n = args.n;
  MatrixOf<T> first_a{static_cast<const T*>(args.a), args.a_row_stride, args.a_col_stride};
  MatrixOf<T> first_b{static_cast<const T*>(args.b), args.b_row_stride, args.b_col_stride};
  if (args.k == 0) first_a = first_b = {};  // operands without elements may lie nowhere: do not step through them
  const Chunks chunks(args.k, ChainLength(args.order, args.k));
  const bool are_rows = first_a.col_stride == 1 && first_b.row_stride == 1;
  if (m == 1 && n == 1 && are_rows && AreManyDots<T>(args.batch, chunks)) {
    return RunManyDots<T>(args, chunks, first_a.data, first_b.data);
  }
  Scratch scratch;
  const T* bias = static_cast<const T*>(args.bias);
  if (bias != nullptr && args.bias_stride != 1) bias = SideBySide(bias, args.bias_stride, n, scratch.Get<T>(n));
  if (AreLaneProducts<T>(args, chunks)) return RunLaneProducts<T>(args, bias);
  const bool small = IsSmall<T>(m, n, chunks);
  const Loops *a_batch = &args.a_batch, *b_batch = &args.b_batch;
  // A narrow result leaves lanes idle: compute its transpose.
  const bool swapped = !small && n < kTileColsOf<T> && m > n;
  if (swapped) {
    std::swap(m, n);
    std::swap(first_a, first_b);
    first_a = first_a.Transposed();
    first_b = first_b.Transposed();
    std::swap(a_batch, b_batch);
  }
  // A fork pays from about 3 µs of work on. To read a number of b takes as long as some multiplications.
  constexpr int64_t kWorthAFork = Grain(100000), kPerRead = 4;
  const int64_t work = args.batch * std::max(m, kPerRead) * n * args.k;
  const int64_t parts = std::min<int64_t>(GetNumThreads(), work / kWorthAFork + 1);
  const Grid grid =
      small || args.batch >= 2 * parts ? Grid{} : CutAmong<T>(m, n, (parts + args.batch - 1) / args.batch);

  const int64_t panels = (n + kTileColsOf<T> - 1) / kTileColsOf<T>;
  const int64_t shares = grid.rows * grid.cols;
  T* const c = static_cast<T*>(args.c);
  const auto share = [&](int64_t task) HWY_ATTR {
    const int64_t matrix = task / shares, row = task % shares / grid.cols, col = task % grid.cols;
    const int64_t i0 = m * row / grid.rows, i1 = m * (row + 1) / grid.rows;
    const int64_t j0 = std::min(n, panels * col / grid.cols * kTileColsOf<T>);
    const int64_t j1 = std::min(n, panels * (col + 1) / grid.cols * kTileColsOf<T>);
    MatrixOf<T> a = first_a, b = first_b;
    a.data = a.At(i0, 0) + a_batch->Offset(matrix);
    b.data += b_batch->Offset(matrix);
    if (small) return SmallProduct<T>(m, n, args.k, a, b, bias, c + matrix * m * n);
    MatrixSink<T> sink{c + matrix * m * n, n, 1, n, nullptr, bias};
    if (swapped) sink = {c + matrix * m * n, 1, m, n, bias, nullptr};
    sink.c += i0 * sink.row_stride;
    if (sink.row_bias != nullptr) sink.row_bias += i0;
    const int64_t done = j0 + RunSkinny(i1 - i0, j0, j1, chunks, a, b, sink);
    if (done == j1) return;
    if ((i1 - i0) * (j1 - done) <= kMaxDots && chunks.count >= kMinDotChunks) {
      return RunDots(i1 - i0, done, j1, chunks, a, b, sink);
    }
    const MatrixCols<T> right{b, n, ReadInPlace(i1 - i0, b)};
    TileProduct<T>(i1 - i0, done, j1, chunks, MatrixRows<T>{a}, right, sink, {0, args.k});
  };
  if (parts == 1) {
    for (int64_t task = 0; task < args.batch * shares; ++task) share(task);
  } else {
    ParallelFor(args.batch * shares, share);
  }
}

void MmKernel(const MmArgs& args) {
  DispatchReal(args.dtype, [&]<class T>() { Run<T>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
