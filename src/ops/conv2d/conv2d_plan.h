// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "repdl/tensor.h"

namespace repdl {

/// Sizes of a convolution; c and o are those of one group.
struct Conv2dSizes {
  int64_t n, c, h, w;  // input
  int64_t o, kh, kw;   // weight
  int64_t p, q;        // output
  int64_t groups;
  IntPair stride, padding, dilation;
};

/// How the terms of a convolution are read. The source images (the input, or the gradient of the output) are copied with
/// room around them, so that the term of a *tap* (kernel row and column) at a *position* (row and column of what is
/// computed) lies at
///     position_row * row_step + position_column + tap_offset[tap]
/// of the padded plane, in bounds for every pair. Which pairs are present is a matter of rows and columns apart.
class ConvPlan {
 public:
  /// Reads the input at the positions of the output: forward, and the gradient by the weight.
  static ConvPlan Forward(const Conv2dSizes& sizes);
  /// Reads the gradient of the output at the positions of the input.
  static ConvPlan GradInput(const Conv2dSizes& sizes);

  int64_t channels;  // source channels of a group
  int64_t source_h, source_w;
  int64_t plane_size;  // of a padded plane
  int64_t rows, cols;  // positions
  int64_t row_step;
  std::vector<int64_t> tap_offset;
  bool masked;  // some term is absent

  int64_t taps() const { return kernel_h_ * kernel_w_; }
  int64_t positions() const { return rows * cols; }
  int64_t source_size() const { return channels * source_h * source_w; }

  bool IsPresent(int64_t tap, int64_t row, int64_t col) const {
    return IsRowPresent(tap, row) && IsColPresent(tap, col);
  }
  bool IsRowPresent(int64_t tap, int64_t row) const { return row_present_[tap / kernel_w_ * rows + row] != 0; }
  bool IsColPresent(int64_t tap, int64_t col) const { return col_present_[tap % kernel_w_ * cols + col] != 0; }

  /// Copies a source plane, rows and columns side by side, into a padded one.
  void Pad(const float* source, float* padded) const;

  /// Positions that a vector can serve: its lanes are neighbours in the padded plane.
  struct Slots {
    struct Fragment {  // lanes whose positions are neighbours too
      int lane, length;
      int64_t position;
    };
    int64_t count = 0;
    std::vector<int64_t> source;  // where each slot begins in the padded plane
    std::vector<Fragment> fragments;
    std::vector<size_t> first_fragment;  // of each slot; one more at the end
    // With absent terms: a bit a lane, `bytes` bytes a tap, for each slot; and which slots need them.
    std::vector<uint8_t> present;
    std::vector<char> masked;
  };
  /// All positions of an image in vectors of `lanes`.
  Slots MakeSlots(int lanes) const;

 private:
  /// Where the columns of phase 0 of a padded row begin.
  int64_t RowAt(int64_t row) const { return row % phases_h_ * phases_w_ * phase_size_ + row / phases_h_ * row_step; }
  void Finish(int64_t row_stride, int64_t col_stride, const std::vector<int64_t>& tap_rows,
              const std::vector<int64_t>& tap_cols);

  int64_t kernel_h_, kernel_w_;
  // Source row y lands in padded row y * up_h_ + top_, and columns likewise. Padded rows and columns are split by their
  // remainders modulo phases_h_ and phases_w_, into planes of phase_size_, so that a stride reads neighbours.
  int64_t top_, left_, up_h_, up_w_;
  int64_t padded_h_, padded_w_, phases_h_, phases_w_, phase_size_;
  std::vector<char> row_present_, col_present_;  // by (kernel row, position row), (kernel column, position column)
};

}  // namespace repdl
