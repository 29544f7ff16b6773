// SPDX-License-Identifier: MIT
// Images that a convolution reads, copied with zeros around them or read where they lie.
#pragma once

#include "base/arena.h"
#include "drivers/tile_cpu-inl.h"
#include "ops/convolution/convolution_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// to[i] = line[first + i * step], or 0 outside of the line. It writes whole vectors, and asks for the numbers `ahead` of
/// those that it reads.
template <class T>
HWY_INLINE void CopyLine(const T* line, int64_t size, int64_t first, int64_t step, int64_t count, int64_t ahead,
                         T* to) {
  const TagOf<T> d;
  const auto [begin, end] = PlacesInLine(size, first, step, count);
  for (int64_t i = 0; i < begin; i += kLanesOf<T>) StoreU(Zero(d), d, to + i);
  const T* const from = line + first;
  int64_t i = begin;
  if (step == 1) {
    for (; i < end; i += kLanesOf<T>) {
      __builtin_prefetch(from + i + ahead);
      StoreU(LoadN(from + i, end - i), d, to + i);
    }
  } else {
#if HWY_TARGET != HWY_SCALAR
    for (; step == 2 && i < end; i += kLanesOf<T>) {
      __builtin_prefetch(from + 2 * i + ahead);
      __builtin_prefetch(from + 2 * i + kLanesOf<T> + ahead);
      const int64_t left = 2 * (end - i) - 1;  // the number behind the last place may not be there
      const VecOf<T> low = LoadN(from + 2 * i, left);
      const VecOf<T> high = LoadN(from + 2 * i + kLanesOf<T>, std::max<int64_t>(0, left - kLanesOf<T>));
      StoreU(hn::ConcatEven(d, high, low), d, to + i);
    }
#endif
    for (; i < end; ++i) to[i] = from[i * step];
  }
  for (; i < count; i += kLanesOf<T>) StoreU(Zero(d), d, to + i);
}

/// Copies a source plane, row-major, into a padded one, behind which a vector may be written.
template <class T>
void PadPlane(const ConvPlan& plan, const T* plane, T* padded) {
  plan.ForLines([&](int64_t at, int64_t count, int64_t line, int64_t first, int64_t step) HWY_ATTR {
    CopyLine(plane + std::max<int64_t>(0, line) * plan.source[2], line < 0 ? 0 : plan.source[2], first, step, count,
             plan.source_plane(), padded + at);
  });
}

template <class T>
HWY_ALIGN inline constexpr T kZeroVector[kLanesOf<T>] = {};

/// Reads the source images of a group: the places of a channel lie side by side, or the channels of a place.
template <class T>
class SourceImages {
 public:
  SourceImages(const ConvArgs<T>& args, const ConvPlan& plan, int64_t group)
      : plan_(plan),
        last_(args.source_last),
        channel_step_(last_ ? 1 : plan.source_plane()),
        place_step_(last_ ? args.sizes.groups * plan.channels : 1),
        image_stride_(args.sizes.groups * plan.source_size()),
        source_(args.source + group * plan.channels * channel_step_) {}

  /// Channels that are best copied at a time, at most.
  int64_t num_at_once() const { return last_ ? kLanesOf<T> : 1; }

  /// Copies `count` channels of a line, as ConvPlan::ForLines says, to places that lie `stride` apart. It may write whole
  /// vectors.
  HWY_INLINE void CopyLine(int64_t image, int64_t channel, int64_t count, int64_t places, int64_t line, int64_t first,
                           int64_t step, T* to, int64_t stride) const {
    const T* const from = source_ + image * image_stride_ + channel * channel_step_ +
                          std::max<int64_t>(0, line) * plan_.source[2] * place_step_;
    const int64_t size = line < 0 ? 0 : plan_.source[2];
    if (last_) {
      TurnLine(from, size, first, step, places, count, to, stride);
    } else {
      repdl::HWY_NAMESPACE::CopyLine(from, size, first, step, places, channel_step_, to);
    }
  }

 private:
  void TurnLine(const T* line, int64_t size, int64_t first, int64_t step, int64_t count, int64_t channels, T* to,
                int64_t stride) const {
    for (int64_t i = 0; i < count; i += kLanesOf<T>) {
      const T* places[kLanesOf<T>];
      for (int64_t q = 0; q < kLanesOf<T>; ++q) {
        const int64_t place = first + (i + q) * step;
        places[q] = place >= 0 && place < size ? line + place * place_step_ : kZeroVector<T>;
        __builtin_prefetch(line + (place + kLanesOf<T> * step) * place_step_);
      }
#if HWY_TARGET == HWY_SCALAR
      for (int64_t c = 0; c < channels; ++c) to[c * stride + i] = places[0][c];
#else
      PackTransposed([&](int64_t q) HWY_ATTR { return places[q]; }, kLanesOf<T>, channels, to + i, stride);
#endif
    }
  }

  const ConvPlan& plan_;
  bool last_;
  int64_t channel_step_, place_step_, image_stride_;
  const T* source_;
};

/// Source images, channels [first_channel, end_channel) of group `group` each: padded copies of the last few, or where they
/// lie.
template <class T>
class PaddedImages {
 public:
  PaddedImages(const ConvArgs<T>& args, int64_t group, int64_t first_channel, int64_t end_channel, int64_t window,
               Scratch& scratch)
      : plan_(args.plan),
        images_(args, args.plan, group),
        source_(args.source + group * plan_.source_size()),
        image_stride_(args.sizes.groups * plan_.source_size()),
        // What is read past its end must lie in the images that follow.
        num_in_place_(plan_.IsPlain() && !args.source_last
                          ? args.sizes.n - 1 - kLanesOf<T> / std::max<int64_t>(1, image_stride_)
                          : 0),
        first_channel_(first_channel),
        end_channel_(end_channel),
        // With room for what is written in whole vectors.
        plane_stride_(num_in_place_ > 0 ? plan_.plane_size : plan_.plane_size + kLanesOf<T>),
        window_(window),
        held_(scratch.Get<int64_t>(window)),
        data_(scratch.Get<T>(window * ImageSize() + kLanesOf<T>)) {
    std::fill(held_, held_ + window, int64_t{-1});
  }

  int64_t plane_stride() const { return plane_stride_; }
  /// The first channel of image `n`; pointers to the `window` images last asked for stay good.
  const T* Image(int64_t n) const {
    if (n < num_in_place_) return source_ + n * image_stride_ + first_channel_ * plane_stride_;
    T* const image = data_ + n % window_ * ImageSize();
    if (held_[n % window_] != n) {
      int64_t count;
      for (int64_t c = first_channel_; c < end_channel_; c += count) {
        count = std::min(images_.num_at_once(), end_channel_ - c);
        T* const planes = image + (c - first_channel_) * plane_stride_;
        plan_.ForLines([&](int64_t at, int64_t places, int64_t line, int64_t first, int64_t step) HWY_ATTR {
          images_.CopyLine(n, c, count, places, line, first, step, planes + at, plane_stride_);
        });
      }
      held_[n % window_] = n;
    }
    return image;
  }

 private:
  int64_t ImageSize() const { return (end_channel_ - first_channel_) * plane_stride_; }

  const ConvPlan& plan_;
  SourceImages<T> images_;
  const T* source_;
  int64_t image_stride_;
  int64_t num_in_place_;
  int64_t first_channel_, end_channel_;
  int64_t plane_stride_;
  int64_t window_;
  int64_t* held_;
  T* data_;
};

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
