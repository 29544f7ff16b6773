// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
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

/// The numbers first, first + step, …, `count` of them.
struct Progression {
  int64_t first = 0, step = 1, count = 0;

  int64_t At(int64_t i) const { return first + i * step; }
  int64_t Last() const { return At(count - 1); }
  /// How many of them are less than x, if they ascend.
  int64_t Below(int64_t x) const { return x <= first ? 0 : std::min(count, (x - first + step - 1) / step); }
};

/// How the terms of a convolution are read. The source images (the input, or the gradient of the output) are copied with
/// room around them, so that the term of a *tap* (kernel row and column) at a *position* (row and column of what is
/// computed) lies at
///     position_row * row_step + position_column + TapOffsets()[tap]
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
  Progression kernel_rows, kernel_cols;  // whose pairs are the taps
  bool masked;                           // some term is absent
  // The result of position (row, col) lies at first_result + row * result_row_step + col * result_col_step of its plane.
  int64_t first_result, result_row_step, result_col_step, result_size;

  int64_t taps() const { return kernel_rows.count * kernel_cols.count; }
  int64_t positions() const { return rows * cols; }
  int64_t source_size() const { return channels * source_h * source_w; }

  /// Whether number u of the kernel rows reads a source row at positions of this row; and likewise columns. The term of
  /// a tap is present where both are.
  bool IsRowPresent(int64_t u, int64_t row) const {
    const int64_t y = row * phases_h_ + tap_rows_.At(u) - top_;
    return y >= 0 && y < source_h;
  }
  bool IsColPresent(int64_t v, int64_t col) const {
    const int64_t x = col * phases_w_ + tap_cols_.At(v) - left_;
    return x >= 0 && x < source_w;
  }
  std::vector<int64_t> TapOffsets() const;

  /// Terms are numbered by (channel, kernel row, kernel column), and those of taps that the plan lacks keep their
  /// numbers. Returns how many of the first k terms are of taps that it has.
  int64_t TermsBelow(int64_t k, const Conv2dSizes& sizes) const {
    const int64_t tap = k % (sizes.kh * sizes.kw), row = tap / sizes.kw, col = tap % sizes.kw;
    const int64_t rows_below = kernel_rows.Below(row), has_row = kernel_rows.Below(row + 1) - rows_below;
    return k / (sizes.kh * sizes.kw) * taps() + rows_below * kernel_cols.count + has_row * kernel_cols.Below(col);
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
  /// With the rest set.
  void Finish();

  // Source row y lands in padded row y + top_, and columns likewise. Padded rows and columns are split by their
  // remainders modulo phases_h_ and phases_w_, into planes of phase_size_, so that a stride reads neighbours.
  int64_t top_, left_;
  int64_t padded_h_, padded_w_, phases_h_, phases_w_, phase_size_;
  Progression tap_rows_, tap_cols_;  // the padded rows and columns that the taps read at position 0
};

}  // namespace repdl
