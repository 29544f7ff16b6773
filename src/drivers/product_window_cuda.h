// SPDX-License-Identifier: MIT
// Operands of products on CUDA that read images through a window, in place: convolutions as products.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "drivers/loops_cuda_thread.h"

namespace repdl::cuda {

/// The axes of an image.
inline constexpr int kWindowAxes = 3;

/// Images or channels, and for each of them places along the axes, which a number counts, the last axis first: the lines of
/// an operand, or its terms.
struct WindowRange {
  int64_t outer_stride;          // elements from one image, or channel, to the next
  int32_t sizes[kWindowAxes];    // of the places
  int32_t steps[kWindowAxes];    // from one of them to the next, in places of the source
  int64_t strides[kWindowAxes];  // the same in elements

  /// Of a source with so many places along the axes.
  void SetStrides(const int32_t (&source)[kWindowAxes]) {
    int64_t stride = 1;
    for (int axis = kWindowAxes - 1; axis >= 0; --axis) {
      strides[axis] = steps[axis] * stride;
      stride *= source[axis];
    }
  }
};

/// A number of a range, taken apart.
struct WindowIndex {
  int64_t outer;
  uint32_t at[kWindowAxes];

  REPDL_LANE static WindowIndex Of(const WindowRange& range, int64_t number) {
    WindowIndex index{};
    for (int axis = kWindowAxes - 1; axis >= 0; --axis) {
      index.at[axis] = static_cast<uint32_t>(scalar::TakeRemainder(number, range.sizes[axis]));
    }
    index.outer = number;
    return index;
  }
  /// Goes on by `count` numbers, which are few: no division is as fast as some subtractions.
  REPDL_LANE void Advance(const WindowRange& range, uint32_t count) {
#pragma unroll
    for (int axis = kWindowAxes - 1; axis >= 0; --axis) {
      const auto size = static_cast<uint32_t>(range.sizes[axis]);
      if (size == 1) continue;
      at[axis] += count;
      if (at[axis] < size) return;
      for (count = 0; at[axis] >= size; ++count) at[axis] -= size;
    }
    outer += count;
  }
  /// From number 0, in elements.
  REPDL_LANE int64_t Offset(const WindowRange& range) const {
    int64_t offset = outer * range.outer_stride;
#pragma unroll
    for (int axis = 0; axis < kWindowAxes; ++axis) {
      if (range.sizes[axis] > 1) offset += at[axis] * range.strides[axis];
    }
    return offset;
  }
};

template <class Tile, int kLines>
class WindowCopier;

/// An operand whose numbers are those of images at places that a line and a term give together:
/// first + line place * line step + term place * term step along each axis. A number whose place is outside is absent.
template <class T>
struct WindowOperand {
  using Number = T;
  template <class Tile, int kLines>
  using Copier = WindowCopier<Tile, kLines>;
  static constexpr bool kMayMask = true;

  const T* data;
  int64_t lines;
  int64_t matrix_stride;
  WindowRange by_line, by_term;
  int32_t first[kWindowAxes];
  int32_t size[kWindowAxes];  // of an image
  int64_t first_offset;       // of `first`, in elements
  bool masked;                // some number is absent

  /// Once the sizes and steps are there.
  void SetStrides() {
    by_line.SetStrides(size);
    by_term.SetStrides(size);
    first_offset = 0;
    for (int axis = 0; axis < kWindowAxes; ++axis) first_offset = first_offset * size[axis] + first[axis];
  }
};

/// Copies what a thread copies of kLines lines of a window: numbers of one line. Neighbouring threads have neighbouring
/// lines.
template <class Tile, int kLines>
class WindowCopier {
 public:
  using T = typename Tile::T;

  /// Begins with these lines of a matrix at this term.
  __device__ __forceinline__ void Begin(const WindowOperand<T>& x, int64_t matrix, int64_t line, int64_t k) {
    const int thread = static_cast<int>(threadIdx.x);
    line_ = thread % kLines, k_ = thread / kLines;
    is_there_ = line + line_ < x.lines;
    term_ = WindowIndex::Of(x.by_term, k + k_);
    const WindowIndex at = WindowIndex::Of(x.by_line, is_there_ ? line + line_ : 0);
    from_ = matrix * x.matrix_stride + x.first_offset + at.Offset(x.by_line);
#pragma unroll
    for (int axis = 0; axis < kWindowAxes; ++axis) {
      place_[axis] = x.first[axis] + static_cast<int32_t>(at.at[axis]) * x.by_line.steps[axis];
    }
  }

  /// Begins to copy `num_k` terms, and goes on to those behind them; says of each whether it is present, if some are not.
  __device__ __forceinline__ void Copy(const WindowOperand<T>& x, int num_k, T* stage, uint8_t* present) {
    WindowIndex term = term_;
#pragma unroll
    for (int k = 0; k < Tile::kTerms; k += kStep) {
      if (is_there_ && k_ + k < num_k) {
        const bool is_inside = !x.masked || IsInside(x, term);
        if (is_inside) {
          const T* const from = x.data + (from_ + term.Offset(x.by_term));
          __pipeline_memcpy_async(stage + (k_ + k) * kPitch + line_, from, sizeof(T));
        }
        if (x.masked) present[(k_ + k) * kLines + line_] = is_inside ? 1 : 0;
      }
      if (k + kStep < Tile::kTerms) term.Advance(x.by_term, kStep);
    }
    term_.Advance(x.by_term, static_cast<uint32_t>(num_k));
  }

 private:
  static constexpr int kStep = Tile::kThreads / kLines, kPitch = kLines + Tile::kPiece;
  static_assert(Tile::kThreads % kLines == 0 && Tile::kTerms % kStep == 0);

  __device__ __forceinline__ bool IsInside(const WindowOperand<T>& x, const WindowIndex& term) const {
    bool is_inside = true;
#pragma unroll
    for (int axis = 0; axis < kWindowAxes; ++axis) {
      const int32_t place = place_[axis] + static_cast<int32_t>(term.at[axis]) * x.by_term.steps[axis];
      is_inside = is_inside && static_cast<uint32_t>(place) < static_cast<uint32_t>(x.size[axis]);
    }
    return is_inside;
  }

  int64_t from_ = 0;      // what the place of the line gives of an offset
  int line_ = 0, k_ = 0;  // of the first number in a stage
  bool is_there_ = false;
  int32_t place_[kWindowAxes] = {};  // of the line
  WindowIndex term_ = {};            // of the first number
};

template <class Tile, int kLines>
class PlaneCopier;

/// An operand whose lines lie side by side in images, one plane each, and whose terms are the places of the planes of all
/// images.
template <class T>
struct PlaneOperand {
  using Number = T;
  template <class Tile, int kLines>
  using Copier = PlaneCopier<Tile, kLines>;
  static constexpr bool kMayMask = false;

  const T* data;
  int64_t lines;
  int64_t matrix_stride, image_stride;
  int64_t plane;  // numbers of one
};

/// Copies what a thread copies of kLines lines of planes: eight terms of a line lie side by side, those of different threads.
template <class Tile, int kLines>
class PlaneCopier {
 public:
  using T = typename Tile::T;

  __device__ __forceinline__ void Begin(const PlaneOperand<T>& x, int64_t matrix, int64_t line, int64_t k) {
    const int thread = static_cast<int>(threadIdx.x);
    line_ = thread / kEight, k_ = thread % kEight;
    const int64_t num_lines = x.lines - line;
    num_lines_ = num_lines < kLines ? static_cast<int>(num_lines) : kLines;
    from_ = x.data + matrix * x.matrix_stride + (line + line_) * x.plane;
    image_ = k + k_;
    place_ = scalar::TakeRemainder(image_, x.plane);
  }

  __device__ __forceinline__ void Copy(const PlaneOperand<T>& x, int num_k, T* stage, uint8_t*) {
    int64_t image = image_, place = place_;
#pragma unroll
    for (int k = 0; k < Tile::kTerms; k += kEight) {
      const T* const from = from_ + image * x.image_stride + place;
#pragma unroll
      for (int line = 0; line < kLines; line += kStep) {
        if (line_ + line >= num_lines_ || k_ + k >= num_k) continue;
        T* const to = stage + (k_ + k) * kPitch + line_ + line;
        __pipeline_memcpy_async(to, from + line * x.plane, sizeof(T));
      }
      if (k + kEight < Tile::kTerms) Advance(x, kEight, image, place);
    }
    Advance(x, num_k, image_, place_);
  }

 private:
  static constexpr int kEight = 8, kStep = Tile::kThreads / kEight, kPitch = kLines + Tile::kPiece;
  static_assert(Tile::kTerms % kEight == 0 && kStep <= kLines && kLines % kStep == 0);

  __device__ __forceinline__ static void Advance(const PlaneOperand<T>& x, int count, int64_t& image, int64_t& place) {
    place += count;
    if (place < x.plane) return;
    int64_t images = place;
    place = scalar::TakeRemainder(images, x.plane);
    image += images;
  }

  const T* from_ = nullptr;  // the first plane
  int line_ = 0, k_ = 0;     // of the first number in a stage
  int num_lines_ = 0;
  int64_t image_ = 0, place_ = 0;  // of the first term
};

}  // namespace repdl::cuda
