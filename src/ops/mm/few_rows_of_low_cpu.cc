// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/narrow_cpu-inl.h"
#include "ops/mm/mm_parts-inl.h"
#include "ops/mm/multiply.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// What stays in the second cache.
constexpr int64_t kNearBytes = 1 << 18;

/// b of one matrix, of bfloat16 or float16.
struct LowMatrix {
  const void* data;
  DType dtype;
  int64_t offset, row_stride, col_stride;

  /// `count` numbers side by side from (k, j) on, widened into `to`.
  void Widen(int64_t k, int64_t j, int64_t count, float* to) const { WidenTo(dtype, From(k, j), to, count); }
  const uint16_t* From(int64_t k, int64_t j) const {
    return static_cast<const uint16_t*>(data) + (offset + k * row_stride + j * col_stride);
  }
};

/// Columns [0, cols) of a product with what was widened.
void MultiplyWide(int64_t m, int64_t cols, const Chunks& chunks, const MatrixOf<float>& a, const MatrixOf<float>& wide,
                  float* c, int64_t c_stride) {
  const MatrixCols<float> right{wide, cols, ReadInPlace(m, wide)};
  const MatrixSink<float> sink{c, c_stride, 1, cols, nullptr, nullptr};
  TileProduct<float>(m, 0, cols, chunks, MatrixRows<float>{a}, right, sink, {0, chunks.num_terms});
}

/// Columns [j0, j1) of b, whose numbers lie side by side along the columns, into c, whose rows lie `c_stride` apart.
void ByColumns(int64_t m, int64_t j0, int64_t j1, const Chunks& chunks, const MatrixOf<float>& a, const LowMatrix& b,
               float* c, int64_t c_stride) {
  const int64_t num_k = chunks.num_terms;
#if HWY_TARGET != HWY_SCALAR
  const int64_t vectors = (j1 - j0) / kLanes;
  // Several rounds over b read it from the second cache.
  const int64_t together = m <= kMaxTransposedRows ? vectors : kNearBytes / (2 * kLanes * num_k) + 1;
  WithHalves(b.dtype, [&]<class Storage>() HWY_ATTR {
    for (int64_t begin = 0; begin < vectors; begin += together) {
      const LinesOf<Storage> columns{b.From(0, j0 + begin * kLanes), b.col_stride};
      for (int64_t i = 0; i < m; i += kMaxTransposedRows) {
        TransposedProduct(std::min<int64_t>(m - i, kMaxTransposedRows), std::min(together, vectors - begin), chunks,
                          {a.At(i, 0), a.row_stride, a.col_stride}, columns, c + i * c_stride + begin * kLanes,
                          c_stride);
      }
    }
  });
  j0 += vectors * kLanes, c += vectors * kLanes;
#endif
  if (j0 == j1) return;
  constexpr int64_t kPanel = kTileColsOf<float>;
  const int64_t stride = num_k + 16;  // columns should not meet in the cache
  const int64_t most = std::max(kPanel, kNearBytes / 4 / stride / kPanel * kPanel);
  Scratch scratch;
  float* const columns = scratch.Get<float>(most * stride);
  for (int64_t j = j0; j < j1; j += most) {
    const int64_t cols = std::min(most, j1 - j);
    for (int64_t col = 0; col < cols; ++col) b.Widen(0, j + col, num_k, columns + col * stride);
    MultiplyWide(m, cols, chunks, a, {columns, 1, stride}, c, c_stride);
    c += cols;
  }
}

/// The same where they lie side by side along the rows.
void ByRows(int64_t m, int64_t j0, int64_t j1, const Chunks& chunks, const MatrixOf<float>& a, const LowMatrix& b,
            float* c, int64_t c_stride) {
  const int64_t panels = (j1 - j0) / kTileColsOf<float>, done = j0 + panels * kTileColsOf<float>;
  if (panels > 0) {
    WithHalves(b.dtype, [&]<class Storage>() HWY_ATTR {
      SweepProduct(m, panels, chunks, a, LinesOf<Storage>{b.From(0, j0), b.row_stride}, c, c_stride);
    });
  }
  if (done == j1) return;
  Scratch scratch;
  const int64_t cols = j1 - done;
  float* const rows = scratch.Get<float>(chunks.num_terms * cols);
  for (int64_t k = 0; k < chunks.num_terms; ++k) b.Widen(k, done, cols, rows + k * cols);
  MultiplyWide(m, cols, chunks, a, {rows, cols, 1}, c + (done - j0), c_stride);
}

}  // namespace

void FewRowsOfLow(const MmArgs& args) {
  const int64_t m = args.m, n = args.n, k = args.k;
  const Chunks chunks(k, ChainLength(args.order, k));
  // As for MmKernel; here a number of b is widened too.
  constexpr int64_t kWorthAFork = Grain(100000), kPerRead = 8;
  const int64_t work = args.batch * std::max(m, kPerRead) * n * k;
  const int64_t parts = std::min<int64_t>(GetNumThreads(), work / kWorthAFork + 1);
  const int64_t panels = (n + kTileColsOf<float> - 1) / kTileColsOf<float>;
  const int64_t shares = std::min(panels, (parts + args.batch - 1) / args.batch);
  const auto share = [&](int64_t task) HWY_ATTR {
    const int64_t matrix = task / shares, part = task % shares;
    const int64_t j0 = panels * part / shares * kTileColsOf<float>;
    const int64_t j1 = std::min(n, panels * (part + 1) / shares * kTileColsOf<float>), cols = j1 - j0;
    Scratch scratch;
    float* const a = scratch.Get<float>(m * k);
    float* const c = scratch.Get<float>(m * cols);
    float* const bias = scratch.Get<float>(cols);
    const int64_t a_offset = args.a_batch.Offset(matrix);
    for (int64_t i = 0; i < m; ++i) {
      NumbersSideBySide(args.a, args.dtype, a_offset + i * args.a_row_stride, args.a_col_stride, k, a + i * k);
    }
    const LowMatrix b{args.b, args.dtype, args.b_batch.Offset(matrix), args.b_row_stride, args.b_col_stride};
    (args.b_row_stride == 1 ? ByColumns : ByRows)(m, j0, j1, chunks, {a, k, 1}, b, c, cols);
    if (args.bias != nullptr) {
      NumbersSideBySide(args.bias, args.dtype, j0 * args.bias_stride, args.bias_stride, cols, bias);
    }
    uint16_t* const out = static_cast<uint16_t*>(args.c) + matrix * m * n + j0;
    for (int64_t i = 0; i < m; ++i) {
      float* const row = c + i * cols;
      if (args.bias != nullptr) {
        for (int64_t j = 0; j < cols; ++j) row[j] = row[j] + bias[j];
      }
      NarrowTo(args.dtype, row, out + i * n, cols);
    }
  };
  if (parts == 1) {
    for (int64_t task = 0; task < args.batch * shares; ++task) share(task);
  } else {
    ParallelFor(args.batch * shares, share);
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
