// SPDX-License-Identifier: MIT
// Where the columns of position_cols_cpu-inl.h go.
#pragma once

#include <atomic>

#include "drivers/tile_cpu-inl.h"
#include "ops/convolution/convolution_kernel.h"
#include "ops/convolution/doubts_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// The first `length` lanes, `step` numbers apart.
template <class T>
HWY_INLINE void StoreSpaced(std::type_identity_t<VecOf<T>> value, T* to, int length, int64_t step) {
  if (step == 1) {
    StoreN(value, to, length);
    return;
  }
  HWY_ALIGN T lanes[kLanesOf<T>];
  StoreU(value, TagOf<T>(), lanes);
  for (int q = 0; q < length; ++q) to[q * step] = lanes[q];
}

/// Where the columns of PositionCols go.
template <class T>
struct PositionSink {
  const ConvPlan& plan;
  const ConvPlan::Slots& slots;
  int64_t num_slots;
  T* result;  // of the first image of the group
  int64_t image_stride, row_step, place_step;
  const T* bias;  // null, or one number a row
  int64_t num_rows;
  std::atomic<bool>* sure;  // null, or becomes false where a number is NaN or a zero

  /// Asks for what Store will write.
  void Prefetch(int64_t i, int rows, int64_t j) const {
    const bool turned = row_step == 1;
    const int64_t step = turned ? plan.result_step[2] * place_step : row_step;
    ForSlots(i, j, [&](int, int64_t slot, const T* image) {
      for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
        const ConvPlan::Slots::Fragment& fragment = slots.fragments[f];
        const T* to = image + fragment.image * image_stride + fragment.result * place_step;
        for (int q = 0; q < (turned ? fragment.length : rows); ++q, to += step) __builtin_prefetch(to, 1);
      }
    });
  }
  void Store(int64_t i, int rows, int64_t j, const T* tile) const {
    Doubts<T> doubts;
    ForSlots(i, j, [&](int v, int64_t slot, T* image) HWY_ATTR {
      const T* const from = tile + v * kLanesOf<T>;
#if HWY_TARGET != HWY_SCALAR
      if (row_step == 1) return StoreTurned(i, rows, slot, from, image, doubts);
#endif
      StoreRows(i, rows, slot, from, image, doubts);
    });
    if (sure != nullptr && doubts.Found()) sure->store(false, std::memory_order_relaxed);
  }

 private:
  /// visit(v, slot, image) for the vectors of a tile; `image` is that of row i.
  template <class Visit>
  HWY_INLINE void ForSlots(int64_t i, int64_t j, const Visit& visit) const {
    const int64_t first = j / kLanesOf<T>;
    T* image = result + first / slots.count * image_stride + i * row_step;
    for (int64_t v = 0, slot = first % slots.count; v < std::min<int64_t>(kTileVecs, num_slots - first); ++v) {
      visit(static_cast<int>(v), slot, image);
      if (++slot == slots.count) slot = 0, image += image_stride;
    }
  }

  void StoreRows(int64_t i, int rows, int64_t slot, const T* tile, T* image, Doubts<T>& doubts) const {
    const TagOf<T> d;
    // Not in memory, which would be read again after each vector that is written.
    Doubts<T> seen = doubts;
    const T* const plus = bias == nullptr ? nullptr : bias + i;
    const int64_t step = plan.result_step[2] * place_step, row = row_step;
    for (size_t f = slots.first_fragment[slot], end = slots.first_fragment[slot + 1]; f < end; ++f) {
      const ConvPlan::Slots::Fragment& fragment = slots.fragments[f];
      const int length = fragment.length;
      T* to = image + fragment.image * image_stride + fragment.result * place_step;
      const T* from = tile + fragment.lane;
      for (int r = 0; r < rows; ++r, from += kTileColsOf<T>, to += row) {
        seen.Look(LoadN(from, length, T{1}));
        VecOf<T> value = LoadU(d, from);
        if (plus != nullptr) value = Add(value, Set(d, plus[r]));
        StoreSpaced(value, to, length, step);
      }
    }
    doubts = seen;
  }

#if HWY_TARGET != HWY_SCALAR
  /// Where the rows of a place lie side by side.
  void StoreTurned(int64_t i, int rows, int64_t slot, const T* tile, T* image, Doubts<T>& doubts) const {
    const TagOf<T> d;
    Doubts<T> seen = doubts;
    for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
      const T* from = tile + slots.fragments[f].lane;
      for (int r = 0; r < rows; ++r, from += kTileColsOf<T>) {
        seen.Look(LoadN(from, slots.fragments[f].length, T{1}));
      }
    }
    doubts = seen;
    for (int first = 0; first < rows; first += kLanesOf<T>) {
      const int64_t count = std::min<int64_t>(kLanesOf<T>, rows - first);
      VecElementOf<T> t[kLanesOf<T>];
#pragma GCC unroll 16
      for (int64_t r = 0; r < kLanesOf<T>; ++r) {
        t[r] = LoadU(d, tile + std::min<int64_t>(first + r, rows - 1) * kTileColsOf<T>);
      }
      TransposeSquare<T>(t);
      HWY_ALIGN T turned[kLanesOf<T>][kLanesOf<T>];
      const VecOf<T> plus = bias == nullptr ? Zero(d) : LoadN(bias + i + first, count);
#pragma GCC unroll 16
      for (int64_t q = 0; q < kLanesOf<T>; ++q) {
        const VecOf<T> value = t[q];
        StoreU(bias == nullptr ? value : Add(value, plus), d, turned[q]);
      }
      // What a vector has too much, the next rows overwrite.
      const int64_t written = i + first + kLanesOf<T> <= num_rows ? kLanesOf<T> : count;
      for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
        const auto& [lane, length, position, at_result, dense_image, place] = slots.fragments[f];
        T* to = image + dense_image * image_stride + at_result * place_step + first;
        for (int q = 0; q < length; ++q, to += plan.result_step[2] * place_step) {
          StoreN(Load(d, turned[lane + q]), to, written);
        }
      }
    }
  }
#endif
};

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
