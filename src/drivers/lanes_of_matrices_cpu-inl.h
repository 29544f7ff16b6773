// SPDX-License-Identifier: MIT
// The numbers of small matrices of a batch moved to vectors, a lane for each matrix, and back.
#pragma once

#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Matrices that have no more rows and columns go side by side. It does not reach the bits.
inline constexpr int64_t kMaxLaneSide = 8;

/// The numbers of a matrix, row by row, as places in each matrix of a batch; no more than those of the largest.
class MatrixPlaces {
 public:
  MatrixPlaces(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) : count_(rows * cols) {
    for (int64_t i = 0, at = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) places_[at++] = i * row_stride + j * col_stride;
    }
  }

  /// A vector for each number, of matrices matrix_at(0) to matrix_at(num_matrices - 1); lanes behind them have the last.
  template <class T, class MatrixAt>
  HWY_INLINE void Load(int64_t num_matrices, const MatrixAt& matrix_at, T* to) const {
    for (int64_t lane = 0; lane < kLanesOf<T>; ++lane) {
      const auto* const matrix = matrix_at(std::min(lane, num_matrices - 1));
      for (int64_t i = 0; i < count_; ++i) to[i * kLanesOf<T> + lane] = matrix[places_[i]];
    }
  }

 private:
  int64_t count_;
  int64_t places_[kMaxLaneSide * kMaxLaneSide];
};

/// The first matrices out of vectors, each `count` numbers side by side, rounded once.
template <class T, class To>
HWY_INLINE void StoreMatrices(const T* from, int64_t count, int64_t num_matrices, To* to) {
  for (int64_t lane = 0; lane < num_matrices; ++lane) {
    for (int64_t i = 0; i < count; ++i) *to++ = static_cast<To>(from[i * kLanesOf<T> + lane]);
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
