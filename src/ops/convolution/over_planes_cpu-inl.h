// SPDX-License-Identifier: MIT
// Convolutions of groups that have one channel to read, a plane after the other.
#pragma once

#include <vector>

#include "base/parallel.h"
#include "ops/convolution/position_sink_cpu-inl.h"
#include "ops/convolution/source_images_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Whether a group has one channel to read, and all terms are in a chain, present or zeros.
template <class T>
bool IsByChannel(const ConvArgs<T>& args, const ConvPlan& plan) {
  const int64_t terms = NumPlaces(args.sizes.kernel);
  return plan.channels == 1 && !plan.masked && ChainLength(args.order, terms) >= terms;
}

/// Rows of weights whose chains run side by side, so that a vector of the plane is read once for all of them.
inline constexpr int kPlaneRows = 4;
/// Slots whose chains do: with a vector of each slot and a weight they fill the registers.
constexpr int SlotsFor(int rows) { return std::min(8, (kTileVecs * (kTileRows + 1) + 1) / (rows + 1)); }

/// Chains of kRows rows of weights at kSlots slots of a plane: out[(row * kSlots + slot) * lanes].
template <class T, int kRows, int kSlots>
HWY_INLINE void RunSlots(const T* plane, const int64_t* slots, const T* weight, const int64_t* offsets,
                         int64_t num_taps, T* out) {
  const TagOf<T> d;
  VecElementOf<T> acc[kRows][kSlots];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int i = 0; i < kSlots; ++i) acc[r][i] = Zero(d);
  }
  const T* from[kSlots];
#pragma GCC unroll 8
  for (int i = 0; i < kSlots; ++i) from[i] = plane + slots[i];
  for (int64_t tap = 0; tap < num_taps; ++tap, ++weight) {
    VecElementOf<T> read[kSlots];
#pragma GCC unroll 8
    for (int i = 0; i < kSlots; ++i) read[i] = LoadU(d, from[i] + offsets[tap]);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const VecOf<T> w = Set(d, weight[r * num_taps]);
#pragma GCC unroll 8
      for (int i = 0; i < kSlots; ++i) acc[r][i] = Fma<VecOf<T>>(w, read[i], acc[r][i]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int i = 0; i < kSlots; ++i) StoreU(acc[r][i], d, out + (r * kSlots + i) * kLanesOf<T>);
  }
}

/// Whether what a vector has too much may be written: positions that follow, which come later, overwrite it.
template <class T>
bool MayOverrun(const ConvPlan& plan, int64_t at_result) {
  return plan.num_positions() == plan.result_size && at_result + kLanesOf<T> <= plan.result_size;
}

/// Where the rows of OverPlanes go.
template <class T>
struct PlaneSink {
  const ConvPlan& plan;
  const ConvPlan::Slots& slots;
  const int64_t* wholes;  // where a slot goes as a whole vector, or -1
  T* result;              // of the first row
  const T* bias;          // null, or one number a row

  /// The sums of kRows rows at kCount slots from `slot` on: those of a row lie side by side.
  template <int kRows, int kCount>
  HWY_INLINE void Store(int64_t slot, const T* sums) const {
    const TagOf<T> d;
    for (int i = 0; i < kCount; ++i, sums += kLanesOf<T>) {
      const int64_t whole = wholes[slot + i];
      for (int row = 0; row < kRows; ++row) {
        const T* const from = sums + row * kCount * kLanesOf<T>;
        T* const to = result + row * plan.result_size;
        if (HWY_LIKELY(whole >= 0)) {
          StoreU(WithBias(row, LoadU(d, from)), d, to + whole);
        } else {
          StoreFragments(slot + i, row, from, to);
        }
      }
    }
  }

 private:
  HWY_INLINE VecOf<T> WithBias(int row, std::type_identity_t<VecOf<T>> value) const {
    return bias == nullptr ? value : Add(value, Set(TagOf<T>(), bias[row]));
  }

  void StoreFragments(int64_t slot, int row, const T* from, T* to_row) const {
    const TagOf<T> d;
    const int64_t step = plan.result_step[2];
    for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
      const auto& [lane, length, position, at_result, dense_image, place] = slots.fragments[f];
      const VecOf<T> value = WithBias(row, LoadU(d, from + lane));
      if (MayOverrun<T>(plan, at_result)) {
        StoreU(value, d, to_row + at_result);
      } else {
        StoreSpaced<T>(value, to_row + at_result, length, step);
      }
    }
  }
};

/// Where each slot goes as a whole vector, or -1.
template <class T>
std::vector<int64_t> WholeSlots(const ConvPlan& plan, const ConvPlan::Slots& slots) {
  std::vector<int64_t> wholes;
  for (int64_t slot = 0; slot < slots.count; ++slot) {
    const auto& first = slots.fragments[slots.first_fragment[slot]];
    const bool is_alone = slots.first_fragment[slot + 1] == slots.first_fragment[slot] + 1;
    const bool is_whole = plan.result_step[2] == 1 && first.length == kLanesOf<T>;
    wholes.push_back(is_whole || (is_alone && MayOverrun<T>(plan, first.result)) ? first.result : -1);
  }
  return wholes;
}

/// kRows rows of weights at all slots.
template <class T, int kRows>
HWY_INLINE void RunPlaneRows(const T* plane, const T* weight, const std::vector<int64_t>& offsets,
                             const PlaneSink<T>& sink) {
  constexpr int kSlots = SlotsFor(kRows);
  const ConvPlan::Slots& slots = sink.slots;
  const auto num_taps = static_cast<int64_t>(offsets.size());
  HWY_ALIGN T sums[(kRows * kSlots + 1) * kLanesOf<T>];  // a fragment is read as a whole vector
  int64_t slot = 0;
  for (; slot + kSlots <= slots.count; slot += kSlots) {
    RunSlots<T, kRows, kSlots>(plane, &slots.source[slot], weight, offsets.data(), num_taps, sums);
    sink.template Store<kRows, kSlots>(slot, sums);
  }
  for (; slot < slots.count; ++slot) {
    RunSlots<T, kRows, 1>(plane, &slots.source[slot], weight, offsets.data(), num_taps, sums);
    sink.template Store<kRows, 1>(slot, sums);
  }
}

/// The same as OverPositions, where IsByChannel.
template <class T>
void OverPlanes(const ConvArgs<T>& args, int64_t m) {
  const ConvPlan& plan = args.plan;
  // To store a slot of several fragments takes as long as some taps do.
  const ConvPlan::Slots slots = plan.MakeSlots(static_cast<int>(kLanesOf<T>), 80);
  const std::vector<int64_t> offsets = plan.TapOffsets(), wholes = WholeSlots<T>(plan, slots);
  const int64_t num_taps = plan.num_taps(), rows = args.sizes.n * args.sizes.groups * m;
  // At least 3 µs of work a task, which pads its first plane; several tasks may share a plane.
  const int64_t work = (plan.plane_size / m + num_taps * plan.num_positions()) * rows / Grain(30000) + 1;
  const int64_t tasks = std::min({rows, work, int64_t{4} * GetNumThreads()});
  ParallelFor(tasks, [&](int64_t task) HWY_ATTR {
    Scratch scratch;
    T* const padded = scratch.Get<T>(plan.plane_size + kLanesOf<T>);
    const int64_t end = rows * (task + 1) / tasks;
    for (int64_t row = rows * task / tasks, held = -1; row < end;) {
      const int64_t plane = row / m, channel = row % (args.sizes.groups * m);
      if (plane != held) PadPlane(plan, args.source + plane * plan.source_plane(), padded);
      held = plane;
      const T* const weight = args.other + channel * num_taps;
      const PlaneSink<T> sink{plan, slots, wholes.data(), args.result + row * plan.result_size,
                              args.bias == nullptr ? nullptr : args.bias + channel};
      if (row + kPlaneRows <= std::min(end, (plane + 1) * m)) {
        RunPlaneRows<T, kPlaneRows>(padded, weight, offsets, sink);
        row += kPlaneRows;
      } else {
        RunPlaneRows<T, 1>(padded, weight, offsets, sink);
        ++row;
      }
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
