// SPDX-License-Identifier: MIT
// The tiles that products on CUDA are computed in.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "numerics/order.h"

namespace repdl::cuda {

/// A tile of kRows x kCols results. Each thread has kThreadRows x kThreadCols of them in registers; a step multiplies
/// kTerms terms, which lie in shared memory, and those of the next kStages - 1 steps are on their way there.
template <class Number, int rows, int cols, int terms, int thread_rows, int thread_cols, int stages, int blocks>
struct ProductTile {
  using T = Number;
  static constexpr int kRows = rows, kCols = cols, kTerms = terms, kStages = stages;
  static constexpr int kThreadRows = thread_rows, kThreadCols = thread_cols;
  static constexpr int kBlocks = blocks;  // that a multiprocessor runs at once
  /// Numbers of 16 bytes: the rows and columns of a thread come in such pieces.
  static constexpr int kPiece = 16 / sizeof(T);
  /// The threads of a warp.
  static constexpr int kWarpRows = 4, kWarpCols = 8;
  static constexpr int kRowWarps = kRows / (kWarpRows * kThreadRows), kColWarps = kCols / (kWarpCols * kThreadCols);
  static constexpr int kThreads = 32 * kRowWarps * kColWarps;
  /// From term to term in shared memory: a piece more, so that numbers copied along k meet different banks.
  static constexpr int kRowPitch = kRows + kPiece, kColPitch = kCols + kPiece;
  static constexpr int kStage = kTerms * (kRowPitch + kColPitch);

  static_assert(kRows % (kWarpRows * kThreadRows) == 0 && kCols % (kWarpCols * kThreadCols) == 0);
  static_assert(kThreadRows % kPiece == 0 && kThreadCols % kPiece == 0);
  // Then every step but the last of a part is whole, and ends no later than its chain.
  static_assert(kProductChunk % kTerms == 0);
};

template <class T>
struct TileOf;
template <>
struct TileOf<float> {
  using Large = ProductTile<float, 128, 128, 16, 8, 8, 2, 2>;
  using Small = ProductTile<float, 64, 64, 16, 8, 4, 3, 4>;
  using Flat = ProductTile<float, 16, 128, 16, 4, 4, 4, 4>;
};
template <>
struct TileOf<double> {
  using Large = ProductTile<double, 64, 128, 8, 8, 8, 3, 2>;
  using Small = ProductTile<double, 64, 64, 8, 8, 4, 3, 3>;
  using Flat = ProductTile<double, 16, 128, 8, 4, 4, 4, 4>;
};

/// Numbers of 16 bytes at an address that is a multiple of 16.
__device__ __forceinline__ void LoadPiece(const float* from, float* to) {
  const float4 piece = *reinterpret_cast<const float4*>(from);
  to[0] = piece.x, to[1] = piece.y, to[2] = piece.z, to[3] = piece.w;
}
__device__ __forceinline__ void LoadPiece(const double* from, double* to) {
  const double2 piece = *reinterpret_cast<const double2*>(from);
  to[0] = piece.x, to[1] = piece.y;
}
__device__ __forceinline__ void StorePiece(const float* from, float* to) {
  *reinterpret_cast<float4*>(to) = float4{from[0], from[1], from[2], from[3]};
}
__device__ __forceinline__ void StorePiece(const double* from, double* to) {
  *reinterpret_cast<double2*>(to) = double2{from[0], from[1]};
}

}  // namespace repdl::cuda
