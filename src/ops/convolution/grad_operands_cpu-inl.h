// SPDX-License-Identifier: MIT
// The operands of the gradient by the weight as a product: images and positions are its terms.
#pragma once

#include <vector>

#include "ops/convolution/source_images_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// The gradient of the output in its gradient by the weight: a matrix of output channels by positions for each image.
template <class T>
struct GradImages {
  const T* first;  // image of the group
  int64_t image_stride, channel_step, place_step;
  int64_t positions;

  /// visit(image, position, length, done) for the runs of terms [k, k + num_k) that are of one image.
  template <class Visit>
  void ForRuns(int64_t k, int64_t num_k, const Visit& visit) const {
    for (int64_t done = 0; done < num_k;) {
      const int64_t position = (k + done) % positions, length = std::min(num_k - done, positions - position);
      visit(MatrixOf<T>{first + (k + done) / positions * image_stride, channel_step, place_step}, position, length,
            done);
      done += length;
    }
  }
};

/// Its output channels as rows.
template <class T>
struct GradRows {
  GradImages<T> images;

  const T* Get(int64_t i, int rows, int64_t k, int64_t num_k, T* buffer) const {
    images.ForRuns(k, num_k, [&](const MatrixOf<T>& image, int64_t position, int64_t length, int64_t done) HWY_ATTR {
      PackRows(image, i, rows, position, length, buffer + done * rows);
    });
    return buffer;
  }
  void Prefetch(int64_t, int, int64_t, int64_t, int64_t, int64_t) const {}
};

/// As columns.
template <class T>
struct GradCols {
  GradImages<T> images;
  int64_t num_cols;

  static constexpr bool kByVector = false, kMayMask = false, kPacks = true;

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t num_k, T* buffer, int64_t buffer_stride,
           PanelOf<T>* panels) const {
    for (int64_t j = j0; j < j1; j += kTileColsOf<T>, buffer += buffer_stride, ++panels) {
      const int cols = static_cast<int>(std::min<int64_t>(kTileColsOf<T>, num_cols - j));
      images.ForRuns(k, num_k, [&](const MatrixOf<T>& image, int64_t position, int64_t length, int64_t done) HWY_ATTR {
        PackCols(image.Transposed(), j, cols, position, length, buffer + done * kTileColsOf<T>);
      });
      *panels = {.b = buffer, .stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
    }
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}
};

/// What the panels of a range of TapCols share: where the taps lie, and which terms are present, as bits of the columns
/// at each position.
template <class T>
struct TapTable {
  int64_t first_column, positions;
  int64_t first_channel, end_channel;
  std::vector<int64_t> tap_offsets;
  std::vector<uint8_t> present;      // (panel, vector, position), kMaskBytesOf<T> each; empty if none is absent
  std::vector<uint32_t> present_at;  // by position, over and over for a block

  TapTable(const ConvPlan& plan, int64_t first_column, int64_t end_column)
      : first_column(first_column),
        positions(plan.num_positions()),
        first_channel(first_column / plan.num_taps()),
        end_channel((end_column - 1) / plan.num_taps() + 1),
        tap_offsets(plan.TapOffsets()) {
    if (!plan.masked) return;
    const int64_t vectors = (end_column - first_column + kTileColsOf<T> - 1) / kTileColsOf<T> * kTileVecs;
    present.reserve(static_cast<size_t>(vectors * positions * kMaskBytesOf<T>));
    for (int64_t first = first_column; first < first_column + vectors * kLanesOf<T>; first += kLanesOf<T>) {
      std::vector<uint64_t> by_axis[kMaxAxes];
      for (int axis = 0; axis < kMaxAxes; ++axis) {
        for (int64_t at = 0; at < plan.positions[axis]; ++at) {
          by_axis[axis].push_back(LanesPresent(plan, axis, at, first, end_column));
        }
      }
      for (const uint64_t in_depth : by_axis[0]) {
        for (const uint64_t in_row : by_axis[1]) {
          for (const uint64_t in_col : by_axis[2]) {
            for (int byte = 0; byte < kMaskBytesOf<T>; ++byte) {
              present.push_back(static_cast<uint8_t>((in_depth & in_row & in_col) >> 8 * byte));
            }
          }
        }
      }
    }
    for (int64_t i = 0; i < positions + Blocking::kMaxBlockK; ++i) {
      present_at.push_back(static_cast<uint32_t>(i % positions * kMaskBytesOf<T>));
    }
  }

  /// Bit i is of column first + i: whether its tap has a place along the axis. Those behind the end count as present.
  static uint64_t LanesPresent(const ConvPlan& plan, int axis, int64_t position, int64_t first, int64_t end_column) {
    const int64_t inner = axis == 2   ? 1
                          : axis == 1 ? plan.kernel[2].count
                                      : plan.kernel[1].count * plan.kernel[2].count;
    uint64_t bits = 0;
    for (int64_t i = 0; i < kLanesOf<T>; ++i) {
      const int64_t place = (first + i) / inner % plan.kernel[axis].count;
      if (first + i >= end_column || plan.IsPresent(axis, place, position)) bits |= uint64_t{1} << i;
    }
    return bits;
  }
};

/// Reads what (channel, tap), a column of the weight, takes of (image, position), a term of its gradient.
template <class T>
class TapReader {
 public:
  const ConvPlan& plan;
  const TapTable<T>& table;
  const PaddedImages<T>& images;
  int64_t num_columns;

  /// to[q * to_stride + i] = what column first + i takes of term k + q, for i < count, which is at most kMost. What a
  /// vector has too much, the next term overwrites.
  void Pack(int64_t first, int64_t count, int64_t k, int64_t num_k, T* to, int64_t to_stride) const {
    // The last columns overlap those before. Columns behind the last one repeat it: nobody reads their sums.
    int64_t begins[kMost], offsets[kMost];
    for (int64_t i = 0; i < count; i += kLanesOf<T>) {
      begins[i] = std::max<int64_t>(0, std::min(i, count - kLanesOf<T>));
      for (int64_t q = 0; q < kLanesOf<T>; ++q) {
        const int64_t column = std::min(first + begins[i] + q, num_columns - 1);
        offsets[i + q] = (column / plan.num_taps() - table.first_channel) * images.plane_stride() +
                         table.tap_offsets[column % plan.num_taps()];
      }
    }
    for (int64_t done = 0; done < num_k;) {
      const int64_t position = (k + done) % plan.num_positions();
      const int64_t cols = plan.positions[2], col = position % cols;
      const int64_t length = std::min(num_k - done, cols - col);
      const int64_t line = plan.OffsetOf(plan.FirstOfLine(position / cols));
      const T* source = images.Image((k + done) / plan.num_positions()) + line + col;
      for (int64_t i = 0; i < count; i += kLanesOf<T>) {
        PackRun(source, offsets + i, length, to + done * to_stride + begins[i], to_stride);
      }
      done += length;
    }
  }

 private:
  /// In whole vectors: the columns of a panel, or the rows of a tile.
  static constexpr int64_t kMost = std::max<int64_t>(kTileColsOf<T>, kTileRows + kLanesOf<T>);

  /// to[q * to_stride + i] = source[q + offsets[i]], for a vector of i.
  static void PackRun(const T* source, const int64_t* offsets, int64_t length, T* to, int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
    for (int64_t q = 0; q < length; ++q) to[q * to_stride] = source[q + offsets[0]];
#else
    PackTransposed([&](int64_t i) HWY_ATTR { return source + offsets[i]; }, kLanesOf<T>, length, to, to_stride);
#endif
  }
};

/// Right operand of the gradient by the weight: (channel, tap) as columns and (image, position) as k.
template <class T>
class TapCols {
 public:
  const TapReader<T>& reader;

  static constexpr bool kByVector = false, kMayMask = true, kPacks = true;

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t num_k, T* buffer, int64_t buffer_stride,
           PanelOf<T>* panels) const {
    for (int64_t j = j0; j < j1; j += kTileColsOf<T>, buffer += buffer_stride, ++panels) {
      reader.Pack(j, kTileColsOf<T>, k, num_k, buffer, kTileColsOf<T>);
      *panels = {.b = buffer, .stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
      if (reader.plan.masked) Mask(j, k, *panels);
    }
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}

 private:
  void Mask(int64_t j, int64_t k, PanelOf<T>& panel) const {
    const TapTable<T>& table = reader.table;
    for (int v = 0; v < kTileVecs; ++v) {
      panel.present[v] =
          table.present.data() + ((j - table.first_column) / kLanesOf<T> + v) * table.positions * kMaskBytesOf<T>;
    }
    panel.present_at = table.present_at.data() + k % table.positions;
  }
};

/// The same as a left operand, if no term is absent: rows from `first` on.
template <class T>
struct TapRows {
  const TapReader<T>& reader;
  int64_t first;

  const T* Get(int64_t i, int rows, int64_t k, int64_t num_k, T* buffer) const {
    reader.Pack(first + i, rows, k, num_k, buffer, rows);
    return buffer;
  }
  void Prefetch(int64_t, int, int64_t, int64_t, int64_t, int64_t) const {}
};

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
