// SPDX-License-Identifier: MIT
// Places of images, a vector of channels each.
#pragma once

#include <algorithm>

#include "drivers/transpose_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Vectors that have a lane for each channel.
template <class T>
int64_t NumVectors(int64_t channels) {
  return (channels + kLanesOf<T> - 1) / kLanesOf<T>;
}

/// Up to a vector of channels of an image, whose places lie side by side in planes, or the channels of a place do.
template <class T>
struct ImageChannels {
  const T* image;
  int64_t plane, channels;  // of the image
  bool channels_last;
  int64_t first;  // channel

  int count() const { return static_cast<int>(std::min(kLanesOf<T>, channels - first)); }
  /// t[q] = the channels of place + q; idle lanes repeat the last one, or are 1.
  HWY_INLINE void Load(int64_t place, int64_t num_places, VecElementOf<T>* t) const {
    if (channels_last) {
      for (int64_t q = 0; q < num_places; ++q) t[q] = LoadN(image + (place + q) * channels + first, count(), T{1});
      return;
    }
    const auto row = [&](int64_t lane)
                         HWY_ATTR { return image + std::min(first + lane, channels - 1) * plane + place; };
    if (num_places == kLanesOf<T>) return LoadTransposed<T>(row, t);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanesOf<T>; ++i) t[i] = LoadN(row(i), num_places);
    TransposeSquare<T>(t);
  }
};

/// Places that are fetched ahead of the one that is read: they lie too far apart for the memory's prefetchers.
inline constexpr int64_t kPlacesAhead = 32;

/// `count` vectors of zeros; returns where they end.
template <class T>
HWY_INLINE T* PutZeros(int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i, to += kLanesOf<T>) Store(Zero(TagOf<T>()), TagOf<T>(), to);
  return to;
}

/// As PackChannels, of whole vectors of channels that lie side by side.
template <class T>
void CopyChannels(const T* from, int64_t channels, int64_t cols, int64_t before, int64_t after, int64_t lines, T* to) {
  const TagOf<T> d;
  for (int64_t line = 0; line < lines; ++line) {
    to = PutZeros(before, to);
    for (int64_t col = 0; col < cols; ++col, from += channels, to += kLanesOf<T>) {
      __builtin_prefetch(from + kPlacesAhead * channels);
      Store(LoadU(d, from), d, to);
    }
    to = PutZeros(after, to);
  }
}

/// to[place] = a vector of channels for each place of lines [begin, end), with zeros before and behind each line.
template <class T>
void PackChannels(const ImageChannels<T>& from, int64_t cols, int64_t before, int64_t after, int64_t begin, int64_t end,
                  T* to) {
  if (from.channels_last && from.count() == kLanesOf<T>) {
    const T* const first = from.image + begin * cols * from.channels + from.first;
    return CopyChannels(first, from.channels, cols, before, after, end - begin, to);
  }
  int64_t col = 0;
  for (int64_t place = begin * cols; place < end * cols; place += kLanesOf<T>) {
    const int64_t count = std::min(kLanesOf<T>, end * cols - place);
    VecElementOf<T> t[kLanesOf<T>];
    from.Load(place, count, t);
    for (int64_t q = 0; q < count; ++q) {
      if (col == 0) to = PutZeros(before, to);
      Store(t[q], TagOf<T>(), to);
      to += kLanesOf<T>;
      if (++col == cols) to = PutZeros(after, to), col = 0;
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
