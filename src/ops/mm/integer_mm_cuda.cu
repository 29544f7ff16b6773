// SPDX-License-Identifier: MIT
#include <algorithm>
#include <type_traits>

#include "base/cuda_launch.h"
#include "drivers/loops_cuda_thread.h"
#include "drivers/unsigned.h"
#include "ops/mm/integer_mm_kernel.h"

namespace repdl::scalar {

#include "drivers/add_product.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// A block makes a square of results, a thread four of a column, from squares of the operands in shared memory.
constexpr int kTileSide = 32, kTileLines = kThreadsPerBlock / kTileSide, kTileSteps = kTileSide / kTileLines;

template <class U>
struct IntegerTiles {
  int64_t m, n, k, batch, tile_rows, tile_columns;
  const U* a;
  int64_t a_row_stride, a_col_stride;
  scalar::DeviceLoops a_batch;
  const U* b;
  int64_t b_row_stride, b_col_stride;
  scalar::DeviceLoops b_batch;
  U* c;
};

/// A square of a matrix, 0 beyond its ends. Neighbours along memory go to neighbouring threads.
template <class U>
__device__ __forceinline__ void LoadTile(const U* from, int64_t row, int64_t rows, int64_t row_stride, int64_t column,
                                         int64_t columns, int64_t column_stride, U (*tile)[kTileSide + 1]) {
  const bool along_rows = column_stride == 1 || row_stride != 1;
  const int x = static_cast<int>(threadIdx.x) % kTileSide, y = static_cast<int>(threadIdx.x) / kTileSide;
  for (int step = 0; step < kTileSteps; ++step) {
    const int line = y + step * kTileLines, i = along_rows ? line : x, j = along_rows ? x : line;
    const bool is_within = row + i < rows && column + j < columns;
    tile[i][j] = is_within ? from[(row + i) * row_stride + (column + j) * column_stride] : U{0};
  }
}

template <class U>
__global__ void __launch_bounds__(kThreadsPerBlock) IntegerMmTiles(const __grid_constant__ IntegerTiles<U> call) {
  using Tile = U(*)[kTileSide + 1];
  const auto tile_a = reinterpret_cast<Tile>(SharedMemory<U>());
  const Tile tile_b = tile_a + kTileSide;
  const int x = static_cast<int>(threadIdx.x) % kTileSide, y = static_cast<int>(threadIdx.x) / kTileSide;
  for (int64_t at = blockIdx.x; at < call.batch * call.tile_rows * call.tile_columns; at += gridDim.x) {
    int64_t matrix = at;
    const int64_t column = scalar::TakeRemainder(matrix, call.tile_columns) * kTileSide;
    const int64_t row = scalar::TakeRemainder(matrix, call.tile_rows) * kTileSide;
    const U* const a = call.a + call.a_batch.Offset(matrix);
    const U* const b = call.b + call.b_batch.Offset(matrix);
    U sums[kTileSteps] = {};
    for (int64_t k = 0; k < call.k; k += kTileSide) {
      LoadTile(a, row, call.m, call.a_row_stride, k, call.k, call.a_col_stride, tile_a);
      LoadTile(b, k, call.k, call.b_row_stride, column, call.n, call.b_col_stride, tile_b);
      __syncthreads();
      for (int j = 0; j < kTileSide; ++j) {
        const U factor = tile_b[j][x];
        for (int step = 0; step < kTileSteps; ++step) {
          sums[step] = scalar::AddProduct(sums[step], tile_a[y + step * kTileLines][j], factor);
        }
      }
      __syncthreads();
    }
    for (int step = 0; step < kTileSteps; ++step) {
      const int64_t i = row + y + step * kTileLines, j = column + x;
      if (i < call.m && j < call.n) call.c[(matrix * call.m + i) * call.n + j] = sums[step];
    }
  }
}

template <class U>
static void Multiply(const Place& place, const IntegerMmArgs& args) {
  const auto tiles = [](int64_t size) { return (size + kTileSide - 1) / kTileSide; };
  IntegerTiles<U> call{};
  call.m = args.m, call.n = args.n, call.k = args.k, call.batch = args.batch;
  call.tile_rows = tiles(args.m), call.tile_columns = tiles(args.n);
  if (args.k > 0) {  // operands without elements may lie nowhere: nothing steps through them
    call.a = static_cast<const U*>(args.a), call.a_batch = scalar::DeviceLoops(args.a_batch);
    call.a_row_stride = args.a_row_stride, call.a_col_stride = args.a_col_stride;
    call.b = static_cast<const U*>(args.b), call.b_batch = scalar::DeviceLoops(args.b_batch);
    call.b_row_stride = args.b_row_stride, call.b_col_stride = args.b_col_stride;
  }
  call.c = static_cast<U*>(args.c);
  const Grid grid{.blocks = std::min(args.batch * call.tile_rows * call.tile_columns, kMaxBlocks),
                  .shared_bytes = 2 * kTileSide * (kTileSide + 1) * sizeof(U)};
  Launch(place, grid, &IntegerMmTiles<U>, call);
}

REPDL_CUDA_KERNEL(IntegerMmKernel, IntegerMmArgs) {
  DispatchUnsigned(args.dtype, [&]<class U>() { Multiply<U>(place, args); });
}

}  // namespace repdl::cuda
