// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/skinny_cpu-inl.h"
#include "ops/mm/mm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
void MmKernel(const MmArgs& args) {
  int64_t m = args.m, n = args.n;
  Matrix a_layout{nullptr, args.a_row_stride, args.a_col_stride};
  Matrix b_layout{nullptr, args.b_row_stride, args.b_col_stride};
  if (args.k == 0) a_layout = b_layout = {};  // operands without elements may lie nowhere: do not step through them
  const float* const* a_data = args.a;
  const float* const* b_data = args.b;
  // A narrow result leaves lanes idle: compute its transpose.
  const bool swapped = n < kTileCols && m > n;
  if (swapped) {
    std::swap(m, n);
    std::swap(a_layout, b_layout);
    a_layout = a_layout.Transposed();
    b_layout = b_layout.Transposed();
    std::swap(a_data, b_data);
  }
  // A fork pays from about 3 µs of work on.
  constexpr int64_t kWorthAFork = 100000;
  const int64_t work = args.batch * m * n * args.k;
  const int64_t parts = std::min<int64_t>(GetNumThreads(), work / kWorthAFork + 1);
  const Grid grid = args.batch >= 2 * parts ? Grid{} : CutAmong(m, n, (parts + args.batch - 1) / args.batch);

  const int64_t panels = (n + kTileCols - 1) / kTileCols;
  const int64_t shares = grid.rows * grid.cols;
  const auto share = [&](int64_t task) HWY_ATTR {
    const int64_t matrix = task / shares, row = task % shares / grid.cols, col = task % grid.cols;
    const int64_t i0 = m * row / grid.rows, i1 = m * (row + 1) / grid.rows;
    const int64_t j0 = std::min(n, panels * col / grid.cols * kTileCols);
    const int64_t j1 = std::min(n, panels * (col + 1) / grid.cols * kTileCols);
    Matrix a = a_layout, b = b_layout;
    a.data = a_data[matrix];
    a.data = a.At(i0, 0);
    b.data = b_data[matrix];
    MatrixSink sink{args.c + matrix * m * n, n, 1, n, nullptr, args.bias};
    if (swapped) sink = {args.c + matrix * m * n, 1, m, n, args.bias, nullptr};
    sink.c += i0 * sink.row_stride;
    if (sink.row_bias != nullptr) sink.row_bias += i0;
    const int64_t chunk = ChainLength(args.order, args.k);
    int64_t done = j0;
    if (!swapped && args.bias == nullptr) {
      done +=
          SkinnyProduct(i1 - i0, j1 - j0, args.k, chunk, a, {b.At(0, j0), b.row_stride, b.col_stride}, sink.c + j0, n);
    }
    const MatrixCols right{b, n, /*in_place=*/i1 - i0 <= kMaxRowsInPlace};
    if (done < j1) TileProduct(i1 - i0, done, j1, {args.k, chunk}, MatrixRows{a}, right, sink, {0, args.k});
  };
  if (parts == 1) {
    for (int64_t task = 0; task < args.batch * shares; ++task) share(task);
  } else {
    ParallelFor(args.batch * shares, share);
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
