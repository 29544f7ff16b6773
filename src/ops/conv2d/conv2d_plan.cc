// SPDX-License-Identifier: MIT
#include "ops/conv2d/conv2d_plan.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace repdl {
namespace {

/// What the gradient by the input knows of rows, or of columns: those with one remainder modulo the stride.
struct Phase {
  Progression kernel;  // the kernel rows that they meet
  Progression taps;    // the padded row that each reads at position 0
  int64_t count;
  int64_t offset = 0;  // padded rows before the first source row
  int64_t padded;

  Phase(int64_t phase, int64_t size, int64_t kernel_size, int64_t stride, int64_t padding, int64_t dilation)
      : count((size - phase + stride - 1) / stride), padded(count) {
    const auto reach = [&](int64_t u) { return phase + padding - u * dilation; };
    int64_t first = 0;
    while (first < kernel_size && reach(first) % stride != 0) ++first;
    const int64_t step = stride / std::gcd(stride, dilation);
    kernel = {first, step, (kernel_size - first + step - 1) / step};
    if (kernel.count == 0) return;
    taps = {reach(first) / stride, -(step * dilation / stride), kernel.count};
    offset = std::max<int64_t>(0, -taps.Last());
    taps.first += offset;
    padded = count + taps.first;
  }
};

/// Whether all rows that the taps read at `positions` positions, each `step` after the last one, are source rows.
bool ReadSourceOnly(const Progression& taps, int64_t positions, int64_t step, int64_t offset, int64_t size) {
  if (taps.count == 0 || positions == 0) return true;
  const auto [low, high] = std::minmax({taps.first, taps.Last()});
  return low >= offset && high + (positions - 1) * step - offset < size;
}

}  // namespace

ConvPlan ConvPlan::Forward(const Conv2dSizes& s) {
  ConvPlan plan;
  plan.channels = s.c;
  plan.source_h = s.h, plan.source_w = s.w;
  plan.rows = s.p, plan.cols = s.q;
  plan.kernel_rows = {.count = s.kh}, plan.kernel_cols = {.count = s.kw};
  plan.first_result = 0, plan.result_row_step = s.q, plan.result_col_step = 1, plan.result_size = s.p * s.q;
  plan.top_ = s.padding.h, plan.left_ = s.padding.w;
  plan.padded_h_ = (s.p - 1) * s.stride.h + (s.kh - 1) * s.dilation.h + 1;
  plan.padded_w_ = (s.q - 1) * s.stride.w + (s.kw - 1) * s.dilation.w + 1;
  plan.phases_h_ = s.stride.h, plan.phases_w_ = s.stride.w;
  plan.tap_rows_ = {0, s.dilation.h, s.kh}, plan.tap_cols_ = {0, s.dilation.w, s.kw};
  plan.Finish();
  return plan;
}

ConvPlan ConvPlan::GradInput(const Conv2dSizes& s, IntPair phase) {
  const Phase of_rows(phase.h, s.h, s.kh, s.stride.h, s.padding.h, s.dilation.h);
  const Phase of_cols(phase.w, s.w, s.kw, s.stride.w, s.padding.w, s.dilation.w);
  ConvPlan plan;
  plan.channels = s.o;
  plan.source_h = s.p, plan.source_w = s.q;
  plan.rows = of_rows.count, plan.cols = of_cols.count;
  plan.kernel_rows = of_rows.kernel, plan.kernel_cols = of_cols.kernel;
  plan.first_result = phase.h * s.w + phase.w;
  plan.result_row_step = s.stride.h * s.w, plan.result_col_step = s.stride.w, plan.result_size = s.h * s.w;
  plan.top_ = of_rows.offset, plan.left_ = of_cols.offset;
  plan.padded_h_ = of_rows.padded, plan.padded_w_ = of_cols.padded;
  plan.phases_h_ = plan.phases_w_ = 1;
  plan.tap_rows_ = of_rows.taps, plan.tap_cols_ = of_cols.taps;
  plan.Finish();
  return plan;
}

void ConvPlan::Finish() {
  row_step = (padded_w_ + phases_w_ - 1) / phases_w_;
  phase_size_ = (padded_h_ + phases_h_ - 1) / phases_h_ * row_step;
  plane_size = phases_h_ * phases_w_ * phase_size_;
  // A step from one position to the next passes all phases.
  masked = !ReadSourceOnly(tap_rows_, rows, phases_h_, top_, source_h) ||
           !ReadSourceOnly(tap_cols_, cols, phases_w_, left_, source_w);
}

std::vector<int64_t> ConvPlan::TapOffsets() const {
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(taps()));
  for (int64_t u = 0; u < tap_rows_.count; ++u) {
    const int64_t row_offset = RowAt(tap_rows_.At(u));
    for (int64_t v = 0; v < tap_cols_.count; ++v) {
      const int64_t col = tap_cols_.At(v);
      offsets.push_back(row_offset + col % phases_w_ * phase_size_ + col / phases_w_);
    }
  }
  return offsets;
}

template <class T>
void ConvPlan::Pad(const T* source, T* padded) const {
  std::memset(padded, 0, sizeof(T) * static_cast<size_t>(plane_size));
  const int64_t y_end = std::min(source_h, padded_h_ - top_), x_end = std::min(source_w, padded_w_ - left_);
  for (int64_t y = 0; y < y_end; ++y) {
    const T* from = source + y * source_w;
    T* to = padded + RowAt(y + top_);
    if (phases_w_ == 1) {
      std::copy(from, from + std::max<int64_t>(0, x_end), to + left_);
      continue;
    }
    for (int64_t phase = 0; phase < phases_w_; ++phase) {
      int64_t x = (phase + phases_w_ - left_ % phases_w_) % phases_w_;
      T* out = to + phase * phase_size_ + (x + left_) / phases_w_;
      for (; x < x_end; x += phases_w_) *out++ = from[x];
    }
  }
}
template void ConvPlan::Pad(const float* source, float* padded) const;
template void ConvPlan::Pad(const double* source, double* padded) const;

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
        if (length > 0) slots.fragments.push_back({static_cast<int>(at - begin), static_cast<int>(length), row, col});
        at += length > 0 ? length : row_step - col;
      }
    }
  } else {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t col = 0; col < cols; col += lanes) {
        add(row * row_step + col);
        slots.fragments.push_back({0, static_cast<int>(std::min<int64_t>(lanes, cols - col)), row, col});
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
      uint8_t* bits = &slots.present[slot * taps() * bytes];  // of each tap
      for (int64_t u = 0; u < kernel_rows.count; ++u) {
        const bool row_present = IsRowPresent(u, fragment.row);
        for (int64_t v = 0; v < kernel_cols.count; ++v, bits += bytes) {
          for (int i = 0; i < fragment.length; ++i) {
            if (row_present && IsColPresent(v, fragment.col + i)) continue;
            const int lane = fragment.lane + i;
            bits[lane / 8] = static_cast<uint8_t>(bits[lane / 8] & ~(1 << lane % 8));
            slots.masked[slot] = 1;
          }
        }
      }
    }
  }
  return slots;
}

}  // namespace repdl
