// SPDX-License-Identifier: MIT
#include "ops/convolution/channel_bands.h"

#include <algorithm>

namespace repdl {

ChannelBands::ChannelBands(const ConvSizes& sizes, const std::vector<const ConvPlan*>& plans, int64_t result_cols,
                           int64_t place_bytes)
    : result_cols_(result_cols),
      num_lines_(plans.front()->result_size / result_cols),
      source_cols_(plans.front()->source[2]),
      source_height_(plans.front()->source[0] * plans.front()->source[1]),
      lines_(std::max<int64_t>(1, num_lines_)) {
  struct PositionLine {
    const ConvPlan* plan;
    Axes first;  // position
  };
  std::vector<std::vector<PositionLine>> of_result(static_cast<size_t>(num_lines_));
  for (const ConvPlan* plan : plans) {
    num_positions_ += plan->num_positions();
    const int64_t reach = (plan->kernel[2].count - 1) * plan->TapStep(2), first = plan->FirstPlace(2);
    const int64_t last = first + (plan->positions[2] - 1) * plan->PositionStep(2);
    before_ = std::max(before_, -std::min(first, first + reach));
    after_ = std::max(after_, std::max(last, last + reach) + 1 - source_cols_);
    for (int64_t line = 0; line < plan->num_lines(); ++line) {
      const Axes at = plan->FirstOfLine(line);
      const int64_t place = plan->first_result + at[0] * plan->result_step[0] + at[1] * plan->result_step[1];
      of_result[static_cast<size_t>(place / result_cols)].push_back({plan, at});
    }
  }
  for (const auto& position_lines : of_result) {
    begins_.push_back(runs_.size());
    for (const auto& [plan, first] : position_lines) AddRun(sizes, *plan, first);
  }
  begins_.push_back(runs_.size());
  // What the nearest caches hold, of the source and of the weights.
  constexpr int64_t kMaxBytes = int64_t{192} << 10;
  for (FindSourceLines(); lines_ > 1 && most_lines_ * width() * place_bytes > kMaxBytes; FindSourceLines()) {
    lines_ = (lines_ + 1) / 2;
  }
  // From lines of the source to places that are held.
  for (int64_t line = 0; line < num_lines_; ++line) {
    for (const Run& run : Runs(line)) {
      for (size_t row = run.begin_row; row < run.end_row; ++row) {
        rows_[row].place =
            (rows_[row].place - SourceLines(BandOf(line)).begin) * width() + before_ + run.plan->FirstPlace(2);
      }
    }
  }
}

void ChannelBands::AddRun(const ConvSizes& sizes, const ConvPlan& plan, const Axes& position) {
  const auto place = [&](int axis, int64_t tap) {
    return plan.FirstPlace(axis) + position[axis] * plan.PositionStep(axis) + tap * plan.TapStep(axis);
  };
  const size_t begin = rows_.size();
  for (int64_t t = 0; t < plan.kernel[0].count; ++t) {
    if (!plan.IsPresent(0, t, position[0])) continue;
    for (int64_t u = 0; u < plan.kernel[1].count; ++u) {
      if (!plan.IsPresent(1, u, position[1])) continue;
      rows_.push_back(
          {place(0, t) * plan.source[1] + place(1, u),
           (plan.kernel[0].At(t) * sizes.kernel[1] + plan.kernel[1].At(u)) * sizes.kernel[2] + plan.kernel[2].first});
    }
  }
  runs_.push_back({&plan, plan.first_result % result_cols_, begin, rows_.size()});
}

void ChannelBands::FindSourceLines() {
  source_lines_.clear(), most_lines_ = all_lines_ = 0;
  for (int64_t first = 0; first < num_lines_; first += lines_) {
    Lines lines{source_height_, 0};
    for (int64_t line = first; line < std::min(first + lines_, num_lines_); ++line) {
      for (const Run& run : Runs(line)) {
        for (const Row& row : Rows(run)) {
          lines.begin = std::min(lines.begin, row.place), lines.end = std::max(lines.end, row.place + 1);
        }
      }
    }
    lines.begin = std::min(lines.begin, lines.end);
    source_lines_.push_back(lines);
    most_lines_ = std::max(most_lines_, lines.count()), all_lines_ += lines.count();
  }
}

}  // namespace repdl
