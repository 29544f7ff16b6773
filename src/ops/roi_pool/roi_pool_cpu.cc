// SPDX-License-Identifier: MIT
#include <type_traits>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/channel_group_cpu-inl.h"
#include "ops/roi_pool/roi_pool_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Comparisons or sums that are worth a fork.
constexpr int64_t kGrain = 8192;

/// A box for some channels.
template <class T, class Group>
void PoolBox(const RoiPoolArgs<T>& args, const Group& group, int64_t r) {
  using Number = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  constexpr int64_t kN = kLanesOf<T>, kWidth = Group::kWidth;
  const TagOf<T> d;
  const hn::ScalableTag<Number> dn;
  const int64_t bins = args.rows * args.columns, size = args.height * args.width;
  const int32_t *const y_begins = args.y_begins + r * args.rows, *const y_ends = args.y_ends + r * args.rows;
  const int32_t *const x_begins = args.x_begins + r * args.columns, *const x_ends = args.x_ends + r * args.columns;
  Scratch scratch;
  T* const largest = scratch.Get<T>((bins + kN) * kWidth);
  Number* const places = scratch.Get<Number>(bins * kWidth);
  std::fill_n(largest, bins * kWidth, T{0});
  std::fill_n(places, bins * kWidth, Number{-1});
  // Bins ascend.
  const int64_t left = x_begins[0], span = std::max<int64_t>(x_ends[args.columns - 1] - left, 0);
  T* const row = scratch.Get<T>((span + kN) * kWidth);
  const T* const image = args.input + (args.images[r] * args.channels + group.first()) * size;
  for (int64_t y = y_begins[0]; span > 0 && y < y_ends[args.rows - 1]; ++y) {
    group.Load(image + y * args.width + left, size, span, row);
    for (int64_t i = 0; i < args.rows; ++i) {
      if (y < y_begins[i] || y >= y_ends[i]) continue;
      for (int64_t j = 0; j < args.columns; ++j) {
        const int64_t bin = (i * args.columns + j) * kWidth;
        for (int64_t c = 0; c < kWidth; c += kN) {
          VecOf<T> best = LoadU(d, largest + bin + c);
          auto place = LoadU(dn, places + bin + c);
          int64_t x = x_begins[j];
          if (y == y_begins[i] && x < x_ends[j]) {
            best = LoadU(d, row + (x - left) * kWidth + c);
            place = Set(dn, static_cast<Number>(y * args.width + x));
            ++x;
          }
          for (; x < x_ends[j]; ++x) {
            const VecOf<T> value = LoadU(d, row + (x - left) * kWidth + c);
            const auto loses = hn::Or(Le(value, best), IsNaN(best));
            best = IfThenElse(loses, best, value);
            place = IfThenElse(MaskTo(dn, loses), place, Set(dn, static_cast<Number>(y * args.width + x)));
          }
          StoreU(best, d, largest + bin + c);
          StoreU(place, dn, places + bin + c);
        }
      }
    }
  }
  const int64_t first = (r * args.channels + group.first()) * bins;
  group.Unload(largest, bins, args.output + first, bins,
               [](VecOf<T> v, T* to, int64_t count) HWY_ATTR { StoreN<T>(v, to, count); });
  for (int64_t c = 0; c < group.channels(); ++c) {
    int64_t* const to = args.places + first + c * bins;
    for (int64_t b = 0; b < bins; ++b) to[b] = places[b * kWidth + c];
  }
}

template <class T>
void Pool(const RoiPoolArgs<T>& args) {
  const ChannelGroups<T> groups(args.channels);
  const int64_t bins = 4 * args.rows * args.columns * args.channels / std::max<int64_t>(groups.count(), 1);
  ParallelRanges(args.count * groups.count(), kGrain / bins + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t task = begin; task < end; ++task) {
      groups.With(task / args.count, [&](const auto& group) HWY_ATTR { PoolBox(args, group, task % args.count); });
    }
  });
}

/// The boxes of an image are taken in their order.
template <class T>
void Spread(const RoiPoolGradArgs<T>& args) {
  const int64_t terms = args.count * args.bins / args.batch + 1;
  ParallelRanges(args.batch * args.channels, kGrain / terms + 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      T* const to = args.grad_input + plane * args.size;
      for (int64_t r = 0; r < args.count; ++r) {
        if (args.images[r] != plane / args.channels) continue;
        const int64_t first = (r * args.channels + plane % args.channels) * args.bins;
        for (int64_t b = first; b < first + args.bins; ++b) {
          if (args.places[b] >= 0) to[args.places[b]] = to[args.places[b]] + args.grad_output[b];
        }
      }
    }
  });
}

}  // namespace

void RoiPoolKernel(const RoiPoolArgs<float>& args) { Pool(args); }
void RoiPoolKernel(const RoiPoolArgs<double>& args) { Pool(args); }
void RoiPoolGradKernel(const RoiPoolGradArgs<float>& args) { Spread(args); }
void RoiPoolGradKernel(const RoiPoolGradArgs<double>& args) { Spread(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
