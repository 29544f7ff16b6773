// SPDX-License-Identifier: MIT
#include "ops/conv2d/conv2d_plan.h"

#include <algorithm>
#include <cstring>

namespace repdl {
namespace {

/// The y in [first, end) for which y * up + offset lies in [0, size).
struct Landing {
  int64_t first, end;
  Landing(int64_t offset, int64_t up, int64_t count, int64_t size)
      : first(offset >= 0 ? 0 : (-offset + up - 1) / up),
        end(std::min(count, size <= offset ? 0 : (size - offset + up - 1) / up)) {}
};

/// Whether the padded row that kernel row `tap` reads at a position holds a source row, for each pair.
std::vector<char> Presence(const std::vector<int64_t>& taps, int64_t positions, int64_t step, int64_t offset,
                           int64_t up, int64_t size) {
  std::vector<char> present;
  present.reserve(taps.size() * static_cast<size_t>(positions));
  for (int64_t tap : taps) {
    for (int64_t i = 0; i < positions; ++i) {
      const int64_t y = i * step + tap - offset;
      present.push_back(y >= 0 && y % up == 0 && y / up < size ? 1 : 0);
    }
  }
  return present;
}

bool All(const std::vector<char>& flags) {
  return std::ranges::all_of(flags, [](char flag) { return flag != 0; });
}

}  // namespace

ConvPlan ConvPlan::Forward(const Conv2dSizes& s) {
  ConvPlan plan;
  plan.channels = s.c;
  plan.source_h = s.h, plan.source_w = s.w;
  plan.rows = s.p, plan.cols = s.q;
  plan.top_ = s.padding.h, plan.left_ = s.padding.w;
  plan.up_h_ = plan.up_w_ = 1;
  plan.padded_h_ = (s.p - 1) * s.stride.h + (s.kh - 1) * s.dilation.h + 1;
  plan.padded_w_ = (s.q - 1) * s.stride.w + (s.kw - 1) * s.dilation.w + 1;
  plan.phases_h_ = s.stride.h, plan.phases_w_ = s.stride.w;
  std::vector<int64_t> tap_rows, tap_cols;
  for (int64_t u = 0; u < s.kh; ++u) tap_rows.push_back(u * s.dilation.h);
  for (int64_t v = 0; v < s.kw; ++v) tap_cols.push_back(v * s.dilation.w);
  plan.Finish(s.stride.h, s.stride.w, tap_rows, tap_cols);
  return plan;
}

ConvPlan ConvPlan::GradInput(const Conv2dSizes& s) {
  ConvPlan plan;
  plan.channels = s.o;
  plan.source_h = s.p, plan.source_w = s.q;
  plan.rows = s.h, plan.cols = s.w;
  // Room for the last tap at the first position; the holes of the stride stay between the source rows.
  plan.top_ = std::max<int64_t>(0, (s.kh - 1) * s.dilation.h - s.padding.h);
  plan.left_ = std::max<int64_t>(0, (s.kw - 1) * s.dilation.w - s.padding.w);
  plan.up_h_ = s.stride.h, plan.up_w_ = s.stride.w;
  plan.padded_h_ = plan.top_ + s.padding.h + s.h;
  plan.padded_w_ = plan.left_ + s.padding.w + s.w;
  plan.phases_h_ = plan.phases_w_ = 1;
  std::vector<int64_t> tap_rows, tap_cols;
  for (int64_t u = 0; u < s.kh; ++u) tap_rows.push_back(plan.top_ + s.padding.h - u * s.dilation.h);
  for (int64_t v = 0; v < s.kw; ++v) tap_cols.push_back(plan.left_ + s.padding.w - v * s.dilation.w);
  plan.Finish(1, 1, tap_rows, tap_cols);
  return plan;
}

void ConvPlan::Finish(int64_t row_stride, int64_t col_stride, const std::vector<int64_t>& tap_rows,
                      const std::vector<int64_t>& tap_cols) {
  kernel_h_ = static_cast<int64_t>(tap_rows.size());
  kernel_w_ = static_cast<int64_t>(tap_cols.size());
  row_step = (padded_w_ + phases_w_ - 1) / phases_w_;
  phase_size_ = (padded_h_ + phases_h_ - 1) / phases_h_ * row_step;
  plane_size = phases_h_ * phases_w_ * phase_size_;
  for (int64_t row : tap_rows) {
    for (int64_t col : tap_cols) tap_offset.push_back(RowAt(row) + col % phases_w_ * phase_size_ + col / phases_w_);
  }
  row_present_ = Presence(tap_rows, rows, row_stride, top_, up_h_, source_h);
  col_present_ = Presence(tap_cols, cols, col_stride, left_, up_w_, source_w);
  masked = !All(row_present_) || !All(col_present_);
}

void ConvPlan::Pad(const float* source, float* padded) const {
  std::memset(padded, 0, sizeof(float) * static_cast<size_t>(plane_size));
  const Landing y_range(top_, up_h_, source_h, padded_h_), x_range(left_, up_w_, source_w, padded_w_);
  for (int64_t y = y_range.first; y < y_range.end; ++y) {
    const float* from = source + y * source_w;
    float* to = padded + RowAt(y * up_h_ + top_);
    if (up_w_ == 1 && phases_w_ == 1) {
      std::copy(from + x_range.first, from + std::max(x_range.first, x_range.end), to + x_range.first + left_);
    } else if (phases_w_ == 1) {
      for (int64_t x = x_range.first; x < x_range.end; ++x) to[x * up_w_ + left_] = from[x];
    } else {
      // Only without holes between the columns: each phase takes every so many of them.
      for (int64_t phase = 0; phase < phases_w_; ++phase) {
        int64_t x = x_range.first + (phase + phases_w_ - (x_range.first + left_) % phases_w_) % phases_w_;
        float* out = to + phase * phase_size_ + (x + left_) / phases_w_;
        for (; x < x_range.end; x += phases_w_) *out++ = from[x];
      }
    }
  }
}

ConvPlan::Slots ConvPlan::MakeSlots(int lanes) const {
  Slots slots;
  // A slot may stay within a row of positions, or run over the padded plane as it lies, with the lanes between
  // two rows idle: what takes fewer slots.
  const int64_t by_row = rows * ((cols + lanes - 1) / lanes);
  const int64_t span = (rows - 1) * row_step + cols;
  const bool flat = (span + lanes - 1) / lanes * 10 < by_row * 9;
  const auto add = [&](int64_t source) {
    slots.source.push_back(source);
    slots.first_fragment.push_back(slots.fragments.size());
    ++slots.count;
  };
  if (flat) {
    for (int64_t begin = 0; begin < span; begin += lanes) {
      add(begin);
      for (int64_t at = begin; at < std::min(begin + lanes, span);) {
        const int64_t row = at / row_step, col = at % row_step;
        const int64_t length = std::min(begin + lanes - at, cols - col);
        if (length > 0)
          slots.fragments.push_back({static_cast<int>(at - begin), static_cast<int>(length), row * cols + col});
        at += length > 0 ? length : row_step - col;
      }
    }
  } else {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t col = 0; col < cols; col += lanes) {
        add(row * row_step + col);
        slots.fragments.push_back({0, static_cast<int>(std::min<int64_t>(lanes, cols - col)), row * cols + col});
      }
    }
  }
  slots.first_fragment.push_back(slots.fragments.size());
  if (!masked) return slots;

  const int64_t bytes = (lanes + 7) / 8;
  slots.present.assign(static_cast<size_t>(slots.count * taps() * bytes), 0xff);  // idle lanes count as present
  slots.masked.assign(static_cast<size_t>(slots.count), 0);
  for (int64_t slot = 0; slot < slots.count; ++slot) {
    for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
      const Slots::Fragment& fragment = slots.fragments[f];
      const int64_t row = fragment.position / cols, col = fragment.position % cols;
      for (int64_t tap = 0; tap < taps(); ++tap) {
        uint8_t* bits = &slots.present[(slot * taps() + tap) * bytes];
        for (int i = 0; i < fragment.length; ++i) {
          if (IsPresent(tap, row, col + i)) continue;
          const int lane = fragment.lane + i;
          bits[lane / 8] = static_cast<uint8_t>(bits[lane / 8] & ~(1 << lane % 8));
          slots.masked[slot] = 1;
        }
      }
    }
  }
  return slots;
}

}  // namespace repdl
