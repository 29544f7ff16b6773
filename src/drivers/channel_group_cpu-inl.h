// SPDX-License-Identifier: MIT
// Channels of row-major images, whose numbers for one element are brought side by side.
#pragma once

#include "drivers/transpose_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// The channels from `first` on, as many as kVectors vectors have lanes, or fewer at the end.
template <class T, int kVectors>
class ChannelGroup {
 public:
  static constexpr int kNumVectors = kVectors;
  static constexpr int64_t kN = kLanesOf<T>;
  static constexpr int64_t kWidth = kVectors * kN;

  ChannelGroup(int64_t channels, int64_t first) : first_(first), channels_(std::min(kWidth, channels - first)) {}

  int64_t first() const { return first_; }
  int64_t channels() const { return channels_; }

  /// to[i * kWidth + c] = from[c * stride + i] for i in [0, n). Channels that there are not repeat the last one.
  HWY_INLINE void Load(const T* from, int64_t stride, int64_t n, T* to) const {
    const TagOf<T> d;
    for (int v = 0; v < kVectors; ++v) {
      for (int64_t i = 0; i < n; i += kN) {
        const int64_t count = std::min(kN, n - i);
        const auto row = [&](int64_t c) HWY_ATTR { return from + std::min(v * kN + c, channels_ - 1) * stride + i; };
        VecElementOf<T> t[kN];
#if HWY_TARGET == HWY_SCALAR
        t[0] = LoadU(d, row(0));
#else
        if (count == kN) {
          LoadTransposed<T>(row, t);
        } else {
          for (int64_t c = 0; c < kN; ++c) t[c] = LoadN(row(c), count);
          TransposeSquare<T>(t);
        }
#endif
        for (int64_t q = 0; q < count; ++q) StoreU(t[q], d, to + (i + q) * kWidth + v * kN);
      }
    }
  }

  /// The way back: put(v, to + c * stride + i, count) for the numbers i, … of each channel c. Behind from[n * kWidth] a
  /// vector of each number may be read.
  template <class Put>
  HWY_INLINE void Unload(const T* from, int64_t n, T* to, int64_t stride, const Put& put) const {
    const TagOf<T> d;
    for (int v = 0; v < kVectors; ++v) {
      const int64_t channels = std::min(kN, channels_ - v * kN);
      for (int64_t i = 0; i < n && channels > 0; i += kN) {
        VecElementOf<T> t[kN];
        for (int64_t q = 0; q < kN; ++q) t[q] = LoadU(d, from + (i + q) * kWidth + v * kN);
#if HWY_TARGET != HWY_SCALAR
        TransposeSquare<T>(t);
#endif
        for (int64_t c = 0; c < channels; ++c) put(t[c], to + (v * kN + c) * stride + i, std::min(kN, n - i));
      }
    }
  }

 private:
  int64_t first_, channels_;
};

/// Channels are taken several vectors at a time, then one by one.
template <class T>
class ChannelGroups {
 public:
  explicit ChannelGroups(int64_t channels)
      : channels_(channels), wide_(channels / kWide), count_(wide_ + (channels % kWide + kN - 1) / kN) {}

  int64_t count() const { return count_; }

  /// Calls body(group) for one of them.
  template <class Body>
  HWY_INLINE void With(int64_t g, const Body& body) const {
    if (g < wide_) {
      body(ChannelGroup<T, kVectors>(channels_, g * kWide));
    } else {
      body(ChannelGroup<T, 1>(channels_, wide_ * kWide + (g - wide_) * kN));
    }
  }

 private:
  static constexpr int64_t kN = kLanesOf<T>;
  static constexpr int kVectors = kN > 8 ? 2 : 4;
  static constexpr int64_t kWide = kVectors * kN;

  int64_t channels_, wide_, count_;
};

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
