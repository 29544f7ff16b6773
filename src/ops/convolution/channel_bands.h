// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/convolution/convolution_plan.h"

namespace repdl {

/// What the lines of a result read where each group has one channel, and how these lines are cut into bands. Of the source
/// a band holds the lines from the first to the last one that it reads, with zeros before and behind each where taps reach
/// out of it; taps that read lines outside of the source are left out.
class ChannelBands {
 public:
  /// A row of taps along the last axis, which reads a line of the source.
  struct Row {
    int64_t place;  // of those that the band holds: what the first tap reads at the first position
    int64_t tap;    // number of the first tap in the kernel
  };
  /// Positions of a plan that lie in a line of the result.
  struct Run {
    const ConvPlan* plan;
    int64_t first;              // their first place in that line
    size_t begin_row, end_row;  // what they read
  };
  /// Lines of the source, counted through all planes of an image.
  struct Lines {
    int64_t begin, end;

    int64_t count() const { return end - begin; }
  };
  /// For results of `result_cols` places a line; `place_bytes` is what is read of the channels of a place before the next
  /// band.
  ChannelBands(const ConvSizes& sizes, const std::vector<const ConvPlan*>& plans, int64_t result_cols,
               int64_t place_bytes);

  int64_t result_cols() const { return result_cols_; }
  int64_t result_plane() const { return num_lines_ * result_cols_; }
  int64_t source_cols() const { return source_cols_; }
  int64_t source_plane() const { return source_height_ * source_cols_; }
  /// Whether each place of the result is a position of some plan.
  bool CoversAll() const { return num_positions_ == result_plane(); }

  int64_t count() const { return static_cast<int64_t>(source_lines_.size()); }
  int64_t Begin(int64_t band) const { return std::min(band * lines_, num_lines_); }
  int64_t BandOf(int64_t line) const { return line / lines_; }
  /// Of a band, at most.
  int64_t most_lines() const { return most_lines_; }
  /// Places that are held of a line, and how many of them are zeros before and behind it.
  int64_t width() const { return before_ + source_cols_ + after_; }
  int64_t before() const { return before_; }
  int64_t after() const { return after_; }
  const Lines& SourceLines(int64_t band) const { return source_lines_[static_cast<size_t>(band)]; }
  /// Whether each line of the source is held about once.
  bool ReadOnce() const { return all_lines_ <= 2 * source_height_; }

  std::span<const Run> Runs(int64_t line) const {
    const size_t begin = begins_[static_cast<size_t>(line)];
    return {runs_.data() + begin, begins_[static_cast<size_t>(line) + 1] - begin};
  }
  std::span<const Row> Rows(const Run& run) const {
    return {rows_.data() + run.begin_row, run.end_row - run.begin_row};
  }

 private:
  void AddRun(const ConvSizes& sizes, const ConvPlan& plan, const Axes& position);
  void FindSourceLines();

  int64_t result_cols_, num_lines_, source_cols_, source_height_;
  int64_t num_positions_ = 0;  // of all plans
  int64_t before_ = 0, after_ = 0;
  int64_t lines_;  // of the result in a band
  std::vector<Row> rows_;
  std::vector<Run> runs_;            // of all lines
  std::vector<size_t> begins_;       // of each line, and the end
  std::vector<Lines> source_lines_;  // of each band
  int64_t most_lines_ = 0, all_lines_ = 0;
};

}  // namespace repdl
