// SPDX-License-Identifier: MIT
// The gradient by the weight where each group has one channel, read and made: a lane for each channel.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/parallel.h"
#include "numerics/order.h"
#include "ops/convolution/channel_bands.h"
#include "ops/convolution/convolution_kernel.h"
#include "ops/convolution/image_channels_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Taps whose chains run side by side: with a vector of the gradient they fill the registers of most targets.
inline constexpr int kMaxTapsTogether = 12;

/// A tap that reads a line of the source.
struct HeldTap {
  int64_t place;  // what it reads at the first position, of the places that are held
  int64_t tap;    // its number in the kernel
};

/// Goes on with the chains of kCount taps over `length` positions, `step` apart in the source.
template <class T, int kCount>
HWY_NOINLINE void RunChannelTaps(const HeldTap* taps, const T* held, int64_t step, const T* grad, int64_t length,
                                 T* sums) {
  const TagOf<T> d;
  const T* source[kCount];
  VecElementOf<T> acc[kCount];
#pragma GCC unroll 12
  for (int i = 0; i < kCount; ++i) {
    source[i] = held + taps[i].place * kLanesOf<T>;
    acc[i] = Load(d, sums + taps[i].tap * kLanesOf<T>);
  }
  int64_t at = 0;
  for (int64_t q = 0; q < length * kLanesOf<T>; q += kLanesOf<T>, at += step) {
    const VecOf<T> g = Load(d, grad + q);
#pragma GCC unroll 12
    for (int i = 0; i < kCount; ++i) acc[i] = Fma<VecOf<T>>(g, Load(d, source[i] + at), acc[i]);
  }
#pragma GCC unroll 12
  for (int i = 0; i < kCount; ++i) Store(acc[i], d, sums + taps[i].tap * kLanesOf<T>);
}

template <class T>
using ChannelTapsFn = void (*)(const HeldTap*, const T*, int64_t, const T*, int64_t, T*);

template <class T, int... kCounts>
constexpr auto ChannelTapsTable(std::integer_sequence<int, kCounts...>) {
  return std::array<ChannelTapsFn<T>, sizeof...(kCounts)>{&RunChannelTaps<T, kCounts + 1>...};
}

/// The taps that read a line of the source at the positions of a line.
class TapsOfLines {
 public:
  TapsOfLines(const ConvPlan& plan, const ChannelBands& bands) {
    for (int64_t line = 0; line < plan.num_lines(); ++line) {
      begins_.push_back(taps_.size());
      for (const ChannelBands::Run& run : bands.Runs(line)) {
        for (const auto& [place, tap] : bands.Rows(run)) {
          for (int64_t i = 0; i < plan.kernel[2].count; ++i) taps_.push_back({place + i * plan.TapStep(2), tap + i});
        }
      }
    }
    begins_.push_back(taps_.size());
  }

  const HeldTap* Of(int64_t line) const { return taps_.data() + begins_[static_cast<size_t>(line)]; }
  int64_t Count(int64_t line) const { return Of(line + 1) - Of(line); }

 private:
  std::vector<HeldTap> taps_;
  std::vector<size_t> begins_;
};

/// Visits the terms of a few vectors of channels, which have the same terms at the same places.
template <class T>
class ChannelTapsVisitor {
 public:
  ChannelTapsVisitor(const ConvArgs<T>& args, const ChannelBands& bands, const TapsOfLines& taps, int64_t first,
                     int64_t vectors, int num_levels, Scratch& scratch)
      : args_(args),
        plan_(args.plan),
        bands_(bands),
        taps_(taps),
        first_(first),
        vectors_(vectors),
        held_size_(bands.most_lines() * bands.width() * kLanesOf<T>),
        grad_size_(bands.Begin(1) * plan_.positions[2] * kLanesOf<T>),
        sums_size_(plan_.num_taps() * kLanesOf<T>),
        held_(scratch.Get<T>(vectors * held_size_)),
        grad_(scratch.Get<T>(vectors * grad_size_)),
        sums_(scratch.Get<T>(vectors * sums_size_)),
        waiting_(scratch.Get<T>(num_levels * vectors * sums_size_)) {}

  void Chain(int64_t begin, int64_t end) {
    static constexpr auto kRuns = ChannelTapsTable<T>(std::make_integer_sequence<int, kMaxTapsTogether>());
    std::fill_n(sums_, vectors_ * sums_size_, T{0});
    const int64_t positions = plan_.num_positions(), cols = plan_.positions[2];
    const int64_t step = plan_.PositionStep(2) * kLanesOf<T>;
    for (int64_t k = begin, length = 0; k < end; k += length) {
      const int64_t image = k / positions, line = k % positions / cols, col = k % cols, band = bands_.BandOf(line);
      length = std::min(end - k, cols - col);
      if (image != image_ || band != band_) Hold(image, band);
      const HeldTap* const taps = taps_.Of(line);
      const int64_t count = taps_.Count(line), runs = (count + kMaxTapsTogether - 1) / kMaxTapsTogether;
      const int64_t grad = ((line - bands_.Begin(band)) * cols + col) * kLanesOf<T>;
      for (int64_t vector = 0; vector < vectors_; ++vector) {
        for (int64_t run = 0; run < runs; ++run) {
          const int64_t i = count * run / runs;
          kRuns[count * (run + 1) / runs - i - 1](taps + i, held_ + vector * held_size_ + col * step, step,
                                                  grad_ + vector * grad_size_ + grad, length,
                                                  sums_ + vector * sums_size_);
        }
      }
    }
  }
  void TakeIn(int level) {
    const TagOf<T> d;
    const T* const earlier = waiting_ + level * vectors_ * sums_size_;
    for (int64_t i = 0; i < vectors_ * sums_size_; i += kLanesOf<T>) {
      Store(Add(Load(d, earlier + i), Load(d, sums_ + i)), d, sums_ + i);
    }
  }
  void Park(int level) { std::copy_n(sums_, vectors_ * sums_size_, waiting_ + level * vectors_ * sums_size_); }
  void End() {
    const int64_t taps = plan_.num_taps(), end = std::min(first_ + vectors_ * kLanesOf<T>, args_.sizes.groups);
    for (int64_t channel = first_; channel < end; ++channel) {
      const int64_t vector = (channel - first_) / kLanesOf<T>, lane = (channel - first_) % kLanesOf<T>;
      const T* const from = sums_ + vector * sums_size_ + lane;
      for (int64_t tap = 0; tap < taps; ++tap) args_.result[channel * taps + tap] = from[tap * kLanesOf<T>];
    }
  }

 private:
  void Hold(int64_t image, int64_t band) {
    image_ = image, band_ = band;
    const auto lines = bands_.SourceLines(band);
    const int64_t channels = args_.sizes.groups, source = plan_.source_plane(), positions = plan_.num_positions();
    for (int64_t vector = 0; vector < vectors_; ++vector) {
      const int64_t first = first_ + vector * kLanesOf<T>;
      PackChannels<T>({args_.source + image * channels * source, source, channels, args_.source_last, first},
                      bands_.source_cols(), bands_.before(), bands_.after(), lines.begin, lines.end,
                      held_ + vector * held_size_);
      PackChannels<T>({args_.other + image * channels * positions, positions, channels, args_.result_last, first},
                      plan_.positions[2], 0, 0, bands_.Begin(band), bands_.Begin(band + 1),
                      grad_ + vector * grad_size_);
    }
  }

  const ConvArgs<T>& args_;
  const ConvPlan& plan_;
  const ChannelBands& bands_;
  const TapsOfLines& taps_;
  int64_t first_, vectors_;                    // channels
  int64_t held_size_, grad_size_, sums_size_;  // of a vector of channels
  T *held_, *grad_, *sums_, *waiting_;
  int64_t image_ = -1, band_ = -1;  // what is held
};

/// Vectors of channels that are read together: those that lie side by side share lines of the cache, and pages.
template <class T>
int64_t VectorsTogether(const ConvArgs<T>& args) {
  const int64_t vectors = NumVectors<T>(args.sizes.groups);
  const int64_t most = args.source_last || args.result_last ? 4 : 1;
  return std::clamp<int64_t>(vectors / GetNumThreads(), 1, most);
}

/// The same as OverTaps, where each group has one channel.
template <class T>
void OverChannelTaps(const ConvArgs<T>& args, const ChannelBands& bands, int64_t together) {
  const TapsOfLines taps(args.plan, bands);
  const int64_t num_k = args.sizes.n * args.plan.num_positions();
  const Chunks chunks(num_k, ChainLength(args.order, num_k));
  const int64_t vectors = NumVectors<T>(args.sizes.groups);
  ParallelFor((vectors + together - 1) / together, [&](int64_t task) HWY_ATTR {
    Scratch scratch;
    const int64_t first = task * together;
    ChannelTapsVisitor<T> visitor(args, bands, taps, first * kLanesOf<T>, std::min(together, vectors - first),
                                  NumLevels(chunks.count), scratch);
    WalkChunks(chunks, visitor);
  });
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
