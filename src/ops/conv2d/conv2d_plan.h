// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <iterator>
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
  /// Reads the gradient of the output at those positions of the input whose remainders modulo the stride are `phase`: they
  /// have the same taps, which may be none.
  static ConvPlan GradInput(const Conv2dSizes& sizes, IntPair phase);

  int64_t channels;  // source channels of a group
  int64_t source_h, source_w;
  int64_t plane_size;  // of a padded plane
  int64_t rows, cols;  // positions
  int64_t row_step;
  std::vector<int64_t> kernel_rows, kernel_cols;  // whose pairs are the taps
  std::vector<int64_t> tap_offset;
  bool masked;  // some term is absent
  // The result of position (row, col) lies at first_result + row * result_row_step + col * result_col_step of its plane.
  int64_t first_result, result_row_step, result_col_step, result_size;

  int64_t taps() const { return static_cast<int64_t>(tap_offset.size()); }
  int64_t positions() const { return rows * cols; }
  int64_t source_size() const { return channels * source_h * source_w; }

  bool IsPresent(int64_t tap, int64_t row, int64_t col) const {
    return IsRowPresent(tap, row) && IsColPresent(tap, col);
  }
  bool IsRowPresent(int64_t tap, int64_t row) const {
    return row_present_[tap / std::ssize(kernel_cols) * rows + row] != 0;
  }
  bool IsColPresent(int64_t tap, int64_t col) const {
    return col_present_[tap % std::ssize(kernel_cols) * cols + col] != 0;
  }

  /// Whether a padded plane is the source plane itself.
  bool IsPlain() const {
    return phases_h_ * phases_w_ == 1 && top_ == 0 && left_ == 0 && padded_h_ == source_h && padded_w_ == source_w;
  }
  /// Copies a source plane, rows and columns side by side, into a padded one.
  template <class T>
  void Pad(const T* source, T* padded) const;

  /// Positions that a vector can serve: its lanes are neighbours in the padded plane.
  struct Slots {
    struct Fragment {  // lanes whose positions are neighbours too
      int lane, length;
      int64_t row, col;  // of the first
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
  /// With padded sizes and phases set, and the padded rows and columns that the taps read at position 0.
  void Finish(const std::vector<int64_t>& tap_rows, const std::vector<int64_t>& tap_cols);

  // Source row y lands in padded row y + top_, and columns likewise. Padded rows and columns are split by their
  // remainders modulo phases_h_ and phases_w_, into planes of phase_size_, so that a stride reads neighbours.
  int64_t top_, left_;
  int64_t padded_h_, padded_w_, phases_h_, phases_w_, phase_size_;
  std::vector<char> row_present_, col_present_;  // by (kernel row, position row), (kernel column, position column)
};

}  // namespace repdl
