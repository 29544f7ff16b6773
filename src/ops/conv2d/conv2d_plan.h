// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/op_registry.h"

namespace repdl {

/// Sizes of a convolution; c and o are those of one group.
struct Conv2dSizes {
  int64_t n, c, h, w;  // input
  int64_t o, kh, kw;   // weight
  int64_t p, q;        // output
  int64_t groups;
  IntPair stride, padding, dilation;
};

/// How the terms of a convolution are read. The source images (the input, or the gradient of the output)
/// are copied with room around them, so that the term of a *tap* (kernel row, kernel column) at a
/// *position* (row, column of what is computed) lies at
///     position_row * row_step + position_column + tap_offset[tap]
/// of the padded plane, in bounds for every pair. Which pairs are absent stands in bits.
struct ConvPlan {
  // Source plane and where it lands: row y at y * up_h + top, column x at x * up_w + left.
  int64_t source_h, source_w;
  int64_t top, left, up_h, up_w;
  // Padded plane. Columns are split by their remainder modulo `phases`, so that a stride reads neighbours.
  int64_t padded_h, padded_w, phases, phase_length, row_length, plane_size;

  int64_t channels;  // source channels of a group
  int64_t taps;
  int64_t rows, cols, row_step;  // positions
  std::vector<int64_t> tap_offset;

  bool masked;  // some term is absent
  // Bit j of row i, for j beyond the row's length once more from its start: 64 bits can be read from any
  // place in the length.
  struct Bits {
    int64_t words = 0;
    std::vector<uint64_t> data;

    void Resize(int64_t num_rows, int64_t length);
    void Set(int64_t row, int64_t bit) { data[row * words + bit / 64] |= uint64_t{1} << bit % 64; }
    uint64_t Read(int64_t row, int64_t bit) const {
      const uint64_t* word = &data[row * words + bit / 64];
      return bit % 64 == 0 ? word[0] : word[0] >> bit % 64 | word[1] << (64 - bit % 64);
    }
  };
  Bits present_by_tap;       // row: tap, bit: position
  Bits present_by_position;  // row: position, bit: tap; only for the gradient by the weight

  int64_t positions() const { return rows * cols; }

  /// Reads the input at the positions of the output: forward, and the gradient by the weight.
  static ConvPlan Forward(const Conv2dSizes& sizes, bool by_position);
  /// Reads the gradient of the output at the positions of the input.
  static ConvPlan GradInput(const Conv2dSizes& sizes);

  /// Copies a source plane, rows and columns side by side, into a padded one.
  void Pad(const float* source, float* padded) const;

 private:
  void Finish(bool by_position);
  bool IsPresent(int64_t tap, int64_t row, int64_t col) const;
  std::vector<int64_t> tap_row_, tap_col_;  // padded coordinates of each tap at position (0, 0)
  int64_t row_stride_, col_stride_;         // padded coordinates per position
};

}  // namespace repdl
