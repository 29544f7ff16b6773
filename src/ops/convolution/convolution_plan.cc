// SPDX-License-Identifier: MIT
#include "ops/convolution/convolution_plan.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace repdl {
namespace {

/// What the gradient by the input knows of the places along one axis: those with one remainder modulo the stride.
struct Phase {
  Progression kernel;  // the kernel's places that they meet
  Progression taps;    // the padded place that each reads at position 0
  int64_t count;
  int64_t offset = 0;  // padded places before the first source place
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

/// Whether all places that the taps read at `positions` positions, each `step` after the last one, are source places.
bool ReadSourceOnly(const Progression& taps, int64_t positions, int64_t step, int64_t offset, int64_t size) {
  if (taps.count == 0 || positions == 0) return true;
  const auto [low, high] = std::minmax({taps.first, taps.Last()});
  return low >= offset && high + (positions - 1) * step - offset < size;
}

}  // namespace

ConvPlan ConvPlan::Forward(const ConvSizes& s) {
  ConvPlan plan;
  plan.channels = s.c;
  plan.source = s.input, plan.positions = s.output;
  plan.first_result = 0, plan.result_size = NumPlaces(s.output);
  plan.result_step = {s.output[1] * s.output[2], s.output[2], 1};
  plan.before_ = s.padding, plan.phases_ = s.stride;
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    plan.kernel[axis] = {.count = s.kernel[axis]};
    plan.padded_[axis] = (s.output[axis] - 1) * s.stride[axis] + (s.kernel[axis] - 1) * s.dilation[axis] + 1;
    plan.taps_[axis] = {0, s.dilation[axis], s.kernel[axis]};
  }
  plan.Finish();
  return plan;
}

ConvPlan ConvPlan::GradInput(const ConvSizes& s, const Axes& phase) {
  ConvPlan plan;
  plan.channels = s.o;
  plan.source = s.output;
  plan.phases_ = {1, 1, 1};
  const Axes whole = {s.input[1] * s.input[2], s.input[2], 1};
  plan.first_result = 0, plan.result_size = NumPlaces(s.input);
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    const Phase along(phase[axis], s.input[axis], s.kernel[axis], s.stride[axis], s.padding[axis], s.dilation[axis]);
    plan.positions[axis] = along.count;
    plan.kernel[axis] = along.kernel, plan.taps_[axis] = along.taps;
    plan.before_[axis] = along.offset, plan.padded_[axis] = along.padded;
    plan.first_result += phase[axis] * whole[axis];
    plan.result_step[axis] = s.stride[axis] * whole[axis];
  }
  plan.Finish();
  return plan;
}

ConvPlan ConvPlan::GradInputTogether(const ConvSizes& s) {
  ConvPlan plan;
  plan.channels = s.o;
  plan.source = s.output;
  plan.phases_ = {1, 1, 1};
  plan.first_result = 0, plan.result_size = NumPlaces(s.input);
  plan.result_step = {s.stride[0] * s.input[1] * s.input[2], s.stride[1] * s.input[2], s.stride[2]};
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    const int64_t taps = (s.kernel[axis] + s.stride[axis] - 1) / s.stride[axis];
    const int64_t first = s.padding[axis] / s.stride[axis];
    plan.positions[axis] = (s.input[axis] - 1 + s.padding[axis]) / s.stride[axis] - first + 1;
    plan.kernel[axis] = {.count = taps};
    plan.before_[axis] = std::max<int64_t>(0, taps - 1 - first);
    plan.taps_[axis] = {first + plan.before_[axis], -1, taps};
    plan.padded_[axis] = plan.positions[axis] + plan.taps_[axis].first;
  }
  plan.Finish();
  return plan;
}

void ConvPlan::Finish() {
  Axes parts;
  masked = false;
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    parts[axis] = (padded_[axis] + phases_[axis] - 1) / phases_[axis];
    // A step from one position to the next passes all phases.
    masked = masked || !ReadSourceOnly(taps_[axis], positions[axis], phases_[axis], before_[axis], source[axis]);
  }
  // The zeros behind a line that is not split are those before the next one too, as far as each position keeps a place of
  // its own.
  const int64_t behind = std::max<int64_t>(0, padded_[2] - before_[2] - source[2]);
  const int64_t shared = phases_[2] > 1 ? 0 : std::min({before_[2], behind, padded_[2] - positions[2]});
  parts[2] -= shared;
  step = {parts[1] * parts[2], parts[2], 1};
  const int64_t phase_size = NumPlaces(parts) + shared;
  phase_step_ = {phases_[1] * phases_[2] * phase_size, phases_[2] * phase_size, phase_size};
  plane_size = NumPlaces(phases_) * phase_size;
}

std::vector<ConvPlan::Tap> ConvPlan::Taps() const {
  std::vector<Tap> taps;
  taps.reserve(static_cast<size_t>(num_taps()));
  const auto add_along = [&](int axis, int64_t i, Tap& tap) {
    const int64_t place = taps_[axis].At(i);
    tap.part[axis] = place % phases_[axis];
    tap.shift += place / phases_[axis] * step[axis];
  };
  for (int64_t t = 0; t < taps_[0].count; ++t) {
    for (int64_t u = 0; u < taps_[1].count; ++u) {
      for (int64_t v = 0; v < taps_[2].count; ++v) {
        Tap tap{};
        add_along(0, t, tap), add_along(1, u, tap), add_along(2, v, tap);
        taps.push_back(tap);
      }
    }
  }
  return taps;
}

bool ConvPlan::ReadsOnce() const {
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    const Progression& taps = taps_[axis];
    if (taps.count > phases_[axis] || (taps.count > 1 && taps.step != 1)) return false;
    if (!ReadSourceOnly(taps, positions[axis], phases_[axis], before_[axis], source[axis])) return false;
  }
  return true;
}

int64_t ConvPlan::NumPartsOfTaps() const {
  int64_t parts = 1;
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    const int64_t step = taps_[axis].step, period = phases_[axis] / std::gcd(phases_[axis], step);
    parts *= std::min(taps_[axis].count, period);
  }
  return parts;
}

std::vector<int64_t> ConvPlan::TapOffsets() const {
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(num_taps()));
  for (const auto& [part, shift] : Taps()) {
    offsets.push_back(part[0] * phase_step_[0] + part[1] * phase_step_[1] + part[2] * phase_step_[2] + shift);
  }
  return offsets;
}

template <class T>
void ConvPlan::Pad(const T* plane, T* padded) const {
  ForLines([&](int64_t at, int64_t count, int64_t line, int64_t first, int64_t along) {
    const auto [begin, end] = PlacesInLine(line < 0 ? 0 : source[2], first, along, count);
    const T* const from = plane + std::max<int64_t>(0, line) * source[2] + first;
    std::fill_n(padded + at, begin, T{0});
    for (int64_t i = begin; i < end; ++i) padded[at + i] = from[i * along];
    std::fill_n(padded + at + end, count - end, T{0});
  });
}
template void ConvPlan::Pad(const uint8_t* from_plane, uint8_t* padded) const;
template void ConvPlan::Pad(const uint16_t* from_plane, uint16_t* padded) const;
template void ConvPlan::Pad(const uint32_t* from_plane, uint32_t* padded) const;
template void ConvPlan::Pad(const uint64_t* from_plane, uint64_t* padded) const;

ConvPlan::Slots ConvPlan::MakeSlots(int lanes, int percent) const {
  Slots slots;
  AddSlots(lanes, percent, slots);
  slots.first_fragment.push_back(slots.fragments.size());
  if (masked) MarkPresent(lanes, slots);
  return slots;
}

ConvPlan::Slots ConvPlan::MakeDenseSlots(int lanes, int64_t num_images) const {
  Slots slots;
  int64_t lane = 0;
  for (int64_t image = 0; image < num_images; ++image) {
    for (int64_t line = 0; line < num_lines(); ++line) {
      Axes position = FirstOfLine(line);
      for (int64_t& col = position[2]; col < positions[2];) {
        const int64_t place = image * part_size() + OffsetOf(position);
        if (lane == 0) {
          slots.source.push_back(place);
          slots.first_fragment.push_back(slots.fragments.size());
          ++slots.count;
        }
        const int64_t length = std::min(lanes - lane, positions[2] - col);
        const int64_t result =
            first_result + position[0] * result_step[0] + position[1] * result_step[1] + col * result_step[2];
        slots.fragments.push_back({static_cast<int>(lane), static_cast<int>(length), position, result, image, place});
        lane = (lane + length) % lanes;
        col += length;
      }
    }
  }
  slots.first_fragment.push_back(slots.fragments.size());
  return slots;
}

void ConvPlan::AddSlots(int lanes, int percent, Slots& slots) const {
  // A slot may stay within a line of positions, or run over the padded plane as it lies, with the lanes between two
  // lines idle.
  const int64_t cols = positions[2];
  const int64_t by_line = num_lines() * ((cols + lanes - 1) / lanes);
  const int64_t span = OffsetOf({positions[0] - 1, positions[1] - 1, cols});
  const bool flat = (span + lanes - 1) / lanes * 100 < by_line * percent;
  const auto add_slot = [&](int64_t offset) {
    slots.source.push_back(offset);
    slots.first_fragment.push_back(slots.fragments.size());
    ++slots.count;
  };
  for (int64_t line = 0, end = 0; line < num_lines(); ++line) {  // the slots so far end at `end` of the padded plane
    Axes position = FirstOfLine(line);
    const int64_t offset = OffsetOf(position);
    for (int64_t& col = position[2]; col < cols;) {
      if (offset + col >= end || !flat) {
        add_slot(offset + col);
        end = offset + col + lanes;
      }
      const int64_t length = std::min(end - offset - col, cols - col);
      const int64_t result =
          first_result + position[0] * result_step[0] + position[1] * result_step[1] + col * result_step[2];
      slots.fragments.push_back(
          {static_cast<int>(offset + col - slots.source.back()), static_cast<int>(length), position, result, 0, 0});
      col += length;
    }
  }
}

void ConvPlan::MarkPresent(int lanes, Slots& slots) const {
  const int64_t bytes = (lanes + 7) / 8;
  slots.present.assign(static_cast<size_t>(slots.count * num_taps() * bytes), 0xff);  // idle lanes count as present
  slots.masked.assign(static_cast<size_t>(slots.count), 0);
  for (int64_t slot = 0; slot < slots.count; ++slot) {
    for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
      const auto& [lane, length, position, result, image, place] = slots.fragments[f];
      uint8_t* bits = &slots.present[slot * num_taps() * bytes];  // of each tap
      for (int64_t t = 0; t < kernel[0].count; ++t) {
        for (int64_t u = 0; u < kernel[1].count; ++u) {
          const bool line_present = IsPresent(0, t, position[0]) && IsPresent(1, u, position[1]);
          for (int64_t v = 0; v < kernel[2].count; ++v, bits += bytes) {
            for (int i = 0; i < length; ++i) {
              if (line_present && IsPresent(2, v, position[2] + i)) continue;
              const int at = lane + i;
              bits[at / 8] = static_cast<uint8_t>(bits[at / 8] & ~(1 << at % 8));
              slots.masked[slot] = 1;
            }
          }
        }
      }
    }
  }
}

}  // namespace repdl
