// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/pair_tile_cpu-inl.h"
#include "ops/mm/complex_mm_kernel.h"
#include "ops/mm/mm_kernel.h"
#include "ops/mm/mm_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

template <class T>
static void Run(const ComplexTilesArgs<T>& args) {
  int64_t m = args.a.length, n = args.b.length;
  PairMatrix<T> a{args.a.pairs, args.a.step, args.a.k_step, args.a.conjugate};
  PairMatrix<T> b{args.b.pairs, args.b.k_step, args.b.step, args.b.conjugate};
  const Loops *a_batch = &args.a.batch, *b_batch = &args.b.batch;
  // A narrow result leaves lanes idle: compute its transpose. Products and the sum of the imaginary part commute.
  const bool swapped = n < kPairCols<T> && m > n;
  if (swapped) {
    std::swap(m, n);
    std::swap(a, b);
    a = a.Transposed(), b = b.Transposed();
    std::swap(a_batch, b_batch);
  }
  // A fork pays from about 3 µs of work on.
  constexpr int64_t kWorthAFork = Grain(25000);
  const int64_t work = args.batch * m * n * args.k;
  const int64_t parts = std::min<int64_t>(GetNumThreads(), work / kWorthAFork + 1);
  const Grid grid = args.batch >= 2 * parts ? Grid{} : CutAmong<T>(2 * m, 2 * n, (parts + args.batch - 1) / args.batch);
  const int64_t panels = (n + kPairCols<T> - 1) / kPairCols<T>, shares = grid.rows * grid.cols;
  const auto share = [&](int64_t task) HWY_ATTR {
    const int64_t matrix = task / shares, row = task % shares / grid.cols, col = task % grid.cols;
    const int64_t i0 = m * row / grid.rows, i1 = m * (row + 1) / grid.rows;
    const int64_t j0 = panels * col / grid.cols * kTileColsOf<T>, j1 = panels * (col + 1) / grid.cols * kTileColsOf<T>;
    if (i0 == i1 || j0 == j1) return;
    PairMatrix<T> left = a, right = b;
    left.data = left.At(i0, 0) + a_batch->Offset(matrix);
    right.data += b_batch->Offset(matrix);
    PairSink<T> sink{args.output + 2 * matrix * m * n, 2 * n, 2, i1 - i0, n};
    if (swapped) sink = {sink.c, 2, 2 * m, i1 - i0, n};
    sink.c += i0 * sink.row_stride;
    const Chunks chunks(args.k, ChainLength(args.order, args.k));
    TileProduct<T>(RowsOfTiles(i1 - i0), j0, j1, chunks, PairRows<T>{left, i1 - i0}, PairPanels<T>{right, n}, sink,
                   {0, args.k});
  };
  if (parts == 1) {
    for (int64_t task = 0; task < args.batch * shares; ++task) share(task);
  } else {
    ParallelFor(args.batch * shares, share);
  }
}

void ComplexTilesKernel(const ComplexTilesArgs<float>& args) { Run(args); }
void ComplexTilesKernel(const ComplexTilesArgs<double>& args) { Run(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
