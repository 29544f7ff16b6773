// SPDX-License-Identifier: MIT
// Where the results of products on CUDA go.
#pragma once

#include <cstdint>

#include "drivers/loops_cuda_thread.h"
#include "drivers/product_operand_cuda.h"
#include "drivers/product_tile_cuda.h"
#include "numerics/lanes/scalar.h"

namespace repdl::cuda {

/// Matrices, plus a bias if there is one.
template <class T>
struct MatrixSink {
  T* c;
  int64_t row_stride, col_stride, matrix_stride, part_stride;
  bool in_pieces;  // of 16 bytes along rows
  const T* bias;   // or null
  int64_t bias_row_stride, bias_col_stride;

  /// Partial results, which wait in memory.
  static MatrixSink Partial(T* memory, int64_t rows, int64_t cols, int64_t batch) {
    MatrixSink sink{};
    sink.c = memory;
    sink.row_stride = cols, sink.col_stride = 1, sink.matrix_stride = rows * cols,
    sink.part_stride = batch * rows * cols;
    sink.SetPieces();
    return sink;
  }
  void SetPieces() { in_pieces = col_stride == 1 && InPieces(c, {row_stride, matrix_stride, part_stride}); }

  /// `count` neighbours in each row, at most kPiece.
  template <int kPiece>
  struct Columns {
    const MatrixSink& sink;
    T* c;
    const T* bias;
    int count;

    __device__ __forceinline__ void Put(int64_t row, T (&values)[kPiece]) const {
      if (sink.bias != nullptr) {
        const T* const row_bias = bias + row * sink.bias_row_stride;
#pragma unroll
        for (int e = 0; e < kPiece; ++e) {
          if (e < count) values[e] = scalar::Add(values[e], row_bias[e * sink.bias_col_stride]);
        }
      }
      T* const to = c + row * sink.row_stride;
      if constexpr (kPiece > 1) {
        if (sink.in_pieces && count >= kPiece) return StorePiece(values, to);
      }
#pragma unroll
      for (int e = 0; e < kPiece; ++e) {
        if (e < count) to[e * sink.col_stride] = values[e];
      }
    }
  };
  template <int kPiece>
  __device__ __forceinline__ Columns<kPiece> At(int64_t matrix, int64_t part, int64_t col, int count) const {
    return {*this, c + matrix * matrix_stride + part * part_stride + col * col_stride, bias + col * bias_col_stride,
            count};
  }
};

/// Rows and columns that lie at places of nested loops, plus a bias for every so many rows if there is one.
template <class T>
struct PlaceSink {
  T* c;
  int64_t matrix_stride, part_stride;
  scalar::DeviceLoops rows, cols;
  const T* bias;                          // or null
  int64_t bias_matrix_stride, bias_rows;  // rows that share one

  static PlaceSink Partial(T* memory, int64_t rows, int64_t cols, int64_t batch) {
    PlaceSink sink{};
    sink.c = memory;
    sink.matrix_stride = rows * cols, sink.part_stride = batch * rows * cols;
    sink.rows.rank = sink.cols.rank = 1;
    sink.rows.shape[0] = rows, sink.rows.strides[0] = cols;
    sink.cols.shape[0] = cols, sink.cols.strides[0] = 1;
    return sink;
  }

  template <int kPiece>
  struct Columns {
    const PlaceSink& sink;
    T* c;
    const T* bias;
    int count;
    int64_t offsets[kPiece];

    __device__ __forceinline__ void Put(int64_t row, T (&values)[kPiece]) const {
      T* const to = c + sink.rows.Offset(row);
#pragma unroll
      for (int e = 0; e < kPiece; ++e) {
        if (e >= count) continue;
        if (sink.bias != nullptr) {
          int64_t rest = row;
          scalar::TakeRemainder(rest, sink.bias_rows);
          values[e] = scalar::Add(values[e], bias[rest]);
        }
        to[offsets[e]] = values[e];
      }
    }
  };
  template <int kPiece>
  __device__ __forceinline__ Columns<kPiece> At(int64_t matrix, int64_t part, int64_t col, int count) const {
    Columns<kPiece> columns{*this, c + matrix * matrix_stride + part * part_stride, nullptr, count, {}};
    if (bias != nullptr) columns.bias = bias + matrix * bias_matrix_stride;
#pragma unroll
    for (int e = 0; e < kPiece; ++e) {
      if (e < count) columns.offsets[e] = cols.Offset(col + e);
    }
    return columns;
  }
};

}  // namespace repdl::cuda
