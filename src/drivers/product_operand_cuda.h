// SPDX-License-Identifier: MIT
// Operands of products on CUDA that are matrices of any layout, and how their numbers come to shared memory.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "drivers/loops_cuda_thread.h"

namespace repdl::cuda {

/// How the numbers of a tile are copied to shared memory: in pieces of 16 bytes, which lie so along the lines; or one by
/// one, neighbours along the lines or along k.
enum class CopyWay { kPieces, kAlongLines, kAlongK };

template <class Tile, int kLines>
class LineCopier;

/// An operand of a product: `lines` rows of the left one, or columns of the right one, whatever its layout.
template <class T>
struct ProductOperand {
  using Number = T;
  template <class Tile, int kLines>
  using Copier = LineCopier<Tile, kLines>;
  /// Whether terms may be absent.
  static constexpr bool kMayMask = false;

  const T* data;
  int64_t lines, line_stride, k_stride;
  scalar::DeviceLoops batch;
  CopyWay way;
};

/// Whether 16 bytes may be copied from or to a pointer, and from or to those that are steps of these strides away.
template <class T>
bool InPieces(const T* data, std::initializer_list<int64_t> strides) {
  const auto whole = [](int64_t stride) { return stride % (16 / static_cast<int64_t>(sizeof(T))) == 0; };
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && std::all_of(strides.begin(), strides.end(), whole);
}

template <class T>
CopyWay WayOf(const ProductOperand<T>& x) {
  const auto size = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  if (x.lines == 1 || size(x.k_stride) < size(x.line_stride)) return CopyWay::kAlongK;
  bool in_pieces = x.line_stride == 1 && InPieces(x.data, {x.k_stride});
  for (int dim = 0; dim < x.batch.rank; ++dim) in_pieces = in_pieces && InPieces(x.data, {x.batch.strides[dim]});
  return in_pieces ? CopyWay::kPieces : CopyWay::kAlongLines;
}

/// Copies what a thread copies of kLines lines of an operand: numbers, or pieces of them, that are constant steps apart. What
/// is not there is not copied: it is multiplied too, and gives results that are stored nowhere.
template <class Tile, int kLines>
class LineCopier {
 public:
  using T = typename Tile::T;

  /// Begins with these lines of a matrix at this term.
  __device__ __forceinline__ void Begin(const ProductOperand<T>& x, int64_t matrix, int64_t line, int64_t k) {
    const int thread = static_cast<int>(threadIdx.x);
    int first_line = 0;
    if (x.way == CopyWay::kPieces) {
      first_line = thread % kLinePieces * Tile::kPiece, k_ = thread / kLinePieces;
    } else if (x.way == CopyWay::kAlongLines) {
      first_line = thread % kLines, k_ = thread / kLines;
    } else {
      first_line = thread / kEight, k_ = thread % kEight;
    }
    const int64_t num_lines = x.lines - line;
    num_lines_ = (num_lines < kLines ? static_cast<int>(num_lines) : kLines) - first_line;
    to_ = k_ * kPitch + first_line;
    from_ = x.data + x.batch.Offset(matrix) + (line + first_line) * x.line_stride + (k + k_) * x.k_stride;
  }

  /// Begins to copy `num_k` terms, and goes on to those behind them.
  __device__ __forceinline__ void Copy(const ProductOperand<T>& x, int num_k, T* stage, uint8_t*) {
    T* const to = stage + to_;
    if (x.way == CopyWay::kPieces) {
      constexpr int kStep = Tile::kThreads / kLinePieces;
#pragma unroll
      for (int k = 0; k < Tile::kTerms; k += kStep) {
        if (k_ + k >= num_k) continue;
        const T* const from = from_ + k * x.k_stride;
        if (num_lines_ >= Tile::kPiece) {
          __pipeline_memcpy_async(to + k * kPitch, from, 16);
        } else {
          for (int e = 0; e < num_lines_; ++e) __pipeline_memcpy_async(to + k * kPitch + e, from + e, sizeof(T));
        }
      }
    } else if (x.way == CopyWay::kAlongLines) {
      constexpr int kStep = Tile::kThreads / kLines;
#pragma unroll
      for (int k = 0; k < Tile::kTerms; k += kStep) {
        if (num_lines_ <= 0 || k_ + k >= num_k) continue;
        __pipeline_memcpy_async(to + k * kPitch, from_ + k * x.k_stride, sizeof(T));
      }
    } else {
      constexpr int kStep = Tile::kThreads / kEight;
#pragma unroll
      for (int k = 0; k < Tile::kTerms; k += kEight) {
#pragma unroll
        for (int line = 0; line < kLines; line += kStep) {
          if (line >= num_lines_ || k_ + k >= num_k) continue;
          __pipeline_memcpy_async(to + k * kPitch + line, from_ + line * x.line_stride + k * x.k_stride, sizeof(T));
        }
      }
    }
    from_ += num_k * x.k_stride;
  }

 private:
  /// Terms of a line that lie side by side: a sector of memory. A warp copies those of four lines.
  static constexpr int kEight = 8;
  static constexpr int kLinePieces = kLines / Tile::kPiece, kPitch = kLines + Tile::kPiece;
  static_assert(Tile::kThreads % kLinePieces == 0 && Tile::kThreads % kLines == 0);
  static_assert(Tile::kTerms % kEight == 0 && Tile::kThreads / kEight <= kLines);

  // Of the first number: where it lies, where it goes in a stage, its term; and how many lines there are from its own on.
  const T* from_ = nullptr;
  int to_ = 0, k_ = 0, num_lines_ = 0;
};

}  // namespace repdl::cuda
