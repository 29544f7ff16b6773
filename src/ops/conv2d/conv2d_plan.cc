// SPDX-License-Identifier: MIT
#include "ops/conv2d/conv2d_plan.h"

#include <algorithm>
#include <cstring>

namespace repdl {
namespace {

/// y * up + offset lands in [0, size) for y in [first, end).
struct Landing {
  int64_t first, end;
  Landing(int64_t offset, int64_t up, int64_t count, int64_t size)
      : first(offset >= 0 ? 0 : (-offset + up - 1) / up),
        end(std::min(count, size <= offset ? 0 : (size - offset + up - 1) / up)) {}
};

}  // namespace

void ConvPlan::Bits::Resize(int64_t num_rows, int64_t length) {
  words = (length + 63) / 64 + 2;
  data.assign(static_cast<size_t>(num_rows * words), 0);
}

ConvPlan ConvPlan::Forward(const Conv2dSizes& s, bool by_position) {
  ConvPlan plan{};
  plan.source_h = s.h, plan.source_w = s.w;
  plan.top = s.padding.h, plan.left = s.padding.w;
  plan.up_h = plan.up_w = 1;
  plan.padded_h = (s.p - 1) * s.stride.h + (s.kh - 1) * s.dilation.h + 1;
  plan.padded_w = (s.q - 1) * s.stride.w + (s.kw - 1) * s.dilation.w + 1;
  plan.phases = s.stride.w;
  plan.channels = s.c;
  plan.rows = s.p, plan.cols = s.q;
  plan.row_stride_ = s.stride.h, plan.col_stride_ = s.stride.w;
  for (int64_t u = 0; u < s.kh; ++u) {
    for (int64_t v = 0; v < s.kw; ++v) {
      plan.tap_row_.push_back(u * s.dilation.h);
      plan.tap_col_.push_back(v * s.dilation.w);
    }
  }
  plan.Finish(by_position);
  return plan;
}

ConvPlan ConvPlan::GradInput(const Conv2dSizes& s) {
  ConvPlan plan{};
  plan.source_h = s.p, plan.source_w = s.q;
  // Room for the last tap at the first position; the holes of the stride stay between the source rows.
  plan.top = std::max<int64_t>(0, (s.kh - 1) * s.dilation.h - s.padding.h);
  plan.left = std::max<int64_t>(0, (s.kw - 1) * s.dilation.w - s.padding.w);
  plan.up_h = s.stride.h, plan.up_w = s.stride.w;
  plan.padded_h = plan.top + s.padding.h + s.h;
  plan.padded_w = plan.left + s.padding.w + s.w;
  plan.phases = 1;
  plan.channels = s.o;
  plan.rows = s.h, plan.cols = s.w;
  plan.row_stride_ = plan.col_stride_ = 1;
  for (int64_t u = 0; u < s.kh; ++u) {
    for (int64_t v = 0; v < s.kw; ++v) {
      plan.tap_row_.push_back(plan.top + s.padding.h - u * s.dilation.h);
      plan.tap_col_.push_back(plan.left + s.padding.w - v * s.dilation.w);
    }
  }
  plan.Finish(/*by_position=*/false);
  return plan;
}

bool ConvPlan::IsPresent(int64_t tap, int64_t row, int64_t col) const {
  const int64_t y = row * row_stride_ + tap_row_[tap] - top, x = col * col_stride_ + tap_col_[tap] - left;
  return y >= 0 && x >= 0 && y % up_h == 0 && x % up_w == 0 && y / up_h < source_h && x / up_w < source_w;
}

void ConvPlan::Finish(bool by_position) {
  taps = static_cast<int64_t>(tap_row_.size());
  phase_length = (padded_w + phases - 1) / phases;
  row_length = phases * phase_length;
  plane_size = padded_h * row_length;
  row_step = row_stride_ * row_length;
  for (int64_t t = 0; t < taps; ++t) {
    tap_offset.push_back(tap_row_[t] * row_length + tap_col_[t] % phases * phase_length + tap_col_[t] / phases);
  }

  present_by_tap.Resize(taps, positions() + 64);
  if (by_position) present_by_position.Resize(positions(), taps + 64);
  masked = false;
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t i = 0; i < positions(); ++i) {
      if (!IsPresent(t, i / cols, i % cols)) {
        masked = true;
        continue;
      }
      for (int64_t bit = i; bit < positions() + 64; bit += positions()) present_by_tap.Set(t, bit);
      if (!by_position) continue;
      for (int64_t bit = t; bit < taps + 64; bit += taps) present_by_position.Set(i, bit);
    }
  }
}

void ConvPlan::Pad(const float* source, float* padded) const {
  std::memset(padded, 0, sizeof(float) * static_cast<size_t>(plane_size));
  const Landing y_range(top, up_h, source_h, padded_h), x_range(left, up_w, source_w, padded_w);
  for (int64_t y = y_range.first; y < y_range.end; ++y) {
    const float* from = source + y * source_w;
    float* to = padded + (y * up_h + top) * row_length;
    if (up_w == 1 && phases == 1) {
      if (x_range.end > x_range.first) {
        std::memcpy(to + x_range.first + left, from + x_range.first,
                    sizeof(float) * static_cast<size_t>(x_range.end - x_range.first));
      }
    } else {
      for (int64_t x = x_range.first; x < x_range.end; ++x) {
        const int64_t at = x * up_w + left;
        to[at % phases * phase_length + at / phases] = from[x];
      }
    }
  }
}

}  // namespace repdl
