// SPDX-License-Identifier: MIT
// Convolutions of groups that have one channel to read, a lane for each channel of the result. A lane is idle only where
// channels are few, and vectors are read where they begin, however small the planes and whatever the stride.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/parallel.h"
#include "ops/convolution/channel_bands.h"
#include "ops/convolution/convolution_kernel.h"
#include "ops/convolution/doubts_cpu-inl.h"
#include "ops/convolution/image_channels_cpu-inl.h"
#include "ops/convolution/over_planes_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Positions of a line whose chains run side by side: with a vector of weights they fill the registers of most targets.
inline constexpr int kMaxPositionsTogether = 12;

/// What neighbouring positions read: a vector for each tap.
template <class T>
struct ChannelTerms {
  std::span<const ChannelBands::Row> rows;
  int64_t num_taps;        // of a row
  const T *held, *weight;  // of the band, and of the vector of channels
  // In numbers, from tap to tap and from position to position.
  int64_t tap_step, weight_step, step;
};

/// out[p * out_step] = the chains of kCount positions from number `first` of a run on, plus the bias.
template <class T, int kCount>
HWY_NOINLINE void RunChannels(const ChannelTerms<T>& terms, int64_t first, const T* bias, T* out, int64_t out_step,
                              Doubts<T>& doubts) {
  const TagOf<T> d;
  VecElementOf<T> acc[kCount];
#pragma GCC unroll 12
  for (int p = 0; p < kCount; ++p) acc[p] = Zero(d);
  // Places of channels that lie side by side are lines of the cache far apart, which stores would wait for.
#pragma GCC unroll 12
  for (int p = 0; p < kCount; ++p) __builtin_prefetch(out + p * out_step, 1);
  const int64_t step = terms.step, tap_step = terms.tap_step, weight_step = terms.weight_step;
  for (const auto& [place, row_tap] : terms.rows) {
    const T* HWY_RESTRICT from = terms.held + place * kLanesOf<T> + first * step;
    const T* HWY_RESTRICT weight = terms.weight + row_tap * kLanesOf<T>;
    for (int64_t tap = 0; tap < terms.num_taps; ++tap, from += tap_step, weight += weight_step) {
      const VecOf<T> w = Load(d, weight);
#pragma GCC unroll 12
      for (int p = 0; p < kCount; ++p) acc[p] = Fma<VecOf<T>>(w, Load(d, from + p * step), acc[p]);
    }
  }
  Doubts<T> seen = doubts;
#pragma GCC unroll 12
  for (int p = 0; p < kCount; ++p) seen.Look(acc[p]);
  doubts = seen;
  if (bias != nullptr) {
#pragma GCC unroll 12
    for (int p = 0; p < kCount; ++p) acc[p] = Add(acc[p], Load(d, bias));
  }
#pragma GCC unroll 12
  for (int p = 0; p < kCount; ++p) StoreU(acc[p], d, out + p * out_step);
}

template <class T>
using ChannelsFn = void (*)(const ChannelTerms<T>&, int64_t, const T*, T*, int64_t, Doubts<T>&);

template <class T, int... kCounts>
constexpr auto ChannelsTable(std::integer_sequence<int, kCounts...>) {
  return std::array<ChannelsFn<T>, sizeof...(kCounts)>{&RunChannels<T, kCounts + 1>...};
}

/// Puts `count` places, a vector of channels each, into the planes of the `rows` first channels.
template <class T>
void UnpackIntoPlanes(const T* from, int64_t count, int rows, int64_t plane, T* to) {
  const TagOf<T> d;
  for (int64_t k = 0; k < count; k += kLanesOf<T>) {
    VecElementOf<T> t[kLanesOf<T>];
#pragma GCC unroll 16
    for (int64_t q = 0; q < kLanesOf<T>; ++q) t[q] = Load(d, from + (k + q) * kLanesOf<T>);
    TransposeSquare<T>(t);
    const auto length = static_cast<int>(std::min(kLanesOf<T>, count - k));
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanesOf<T>; ++i) {
      if (i < rows) StoreN<T>(t[i], to + i * plane + k, length);
    }
  }
}

/// What is read of the channels of a place before the next band: a vector, or all of them where they lie side by side.
template <class T>
int64_t PlaceBytes(const ConvArgs<T>& args) {
  const int64_t channels = args.source_last ? std::max(args.sizes.groups / 2, kLanesOf<T>) : kLanesOf<T>;
  return channels * static_cast<int64_t>(sizeof(T));
}

/// Whether OverChannels takes less time than others, if each number goes to its lane about once: channels lie side by side,
/// or most lanes have one, and planes are small, or taps many.
template <class T>
bool SuitsChannels(const ConvArgs<T>& args, int64_t m) {
  const ConvPlan& plan = args.plan;
  // Several results of a channel share what they read of a plane.
  if (m > 1 || plan.source_plane() == 0 || plan.num_positions() == 0 || plan.source[2] > kMaxHeldLine) return false;
  // Other plans have the places between them, or the weight lacks what this one does not read.
  if (plan.num_positions() != plan.result_size || plan.num_taps() != NumPlaces(args.sizes.kernel)) return false;
  if (args.source_last || args.result_last) return true;
  const int64_t channels = args.sizes.groups, lanes = kLanesOf<T>;
  if (channels * 4 < NumVectors<T>(channels) * lanes * 3) return false;
  // In quarters of a cycle, as measured; a vector that spans two lines of the cache takes two loads.
  constexpr int64_t kPerLoad = HWY_MAX_BYTES == 64 ? 8 : 6, kPerSlot = 24, kPerLine = 40, kPerTap = 5,
                    kPerSplitPlace = 7;
  const int64_t per_place = MeetInCache(MatrixOf<T>{args.source, plan.source_plane(), 1}) ? 44 : 28;
  const int64_t slots = plan.num_lines() * ((plan.positions[2] + lanes - 1) / lanes);
  // A plane that is read with a stride is split by it first.
  const int64_t split = plan.PositionStep(2) > 1 ? plan.plane_size * kPerSplitPlace : 0;
  const int64_t by_plane =
      lanes * (slots * (plan.num_taps() * kPerLoad + kPerSlot) + plan.num_lines() * kPerLine + split);
  const int64_t positions = plan.num_positions();
  return (plan.source_plane() + positions) * per_place + positions * plan.num_taps() * kPerTap < by_plane;
}

/// Weights of vectors of channels, packed: those of each vector lie side by side.
template <class T>
struct ChannelWeights {
  T* data;
  int64_t num_taps;

  const T* Of(int64_t first_channel) const { return data + first_channel * num_taps; }
};

template <class T>
ChannelWeights<T> PackWeights(const ConvArgs<T>& args, Scratch& scratch) {
  const int64_t channels = args.sizes.groups, blocks = NumVectors<T>(channels);
  const int64_t num_taps = NumPlaces(args.sizes.kernel);
  const ChannelWeights<T> weights{scratch.Get<T>(blocks * kLanesOf<T> * num_taps), num_taps};
  ParallelRanges(blocks, 1024 / num_taps + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t first = begin * kLanesOf<T>; first < end * kLanesOf<T>; first += kLanesOf<T>) {
      // Idle lanes repeat the last channel, which leaves no more doubts than there are.
      const auto row = [&](int64_t lane)
                           HWY_ATTR { return args.other + std::min(first + lane, channels - 1) * num_taps; };
      PackTransposed(row, static_cast<int>(kLanesOf<T>), num_taps, weights.data + first * num_taps, kLanesOf<T>);
    }
  });
  return weights;
}

/// A vector of channels of a band of an image, one after the other.
template <class T>
class ChannelBlock {
 public:
  ChannelBlock(const ConvArgs<T>& args, const ChannelBands& bands, const ChannelWeights<T>& weights)
      : args_(args),
        bands_(bands),
        weights_(weights),
        // What the lines that go on together read stays in the nearest cache from one of them to the next.
        together_(std::max<int64_t>(8, 4 * kLanesOf<T> / bands.result_cols())),
        bias_(scratch_.Get<T>(kLanesOf<T>)),
        held_(scratch_.Get<T>(bands.most_lines() * bands.width() * kLanesOf<T>)),
        results_(scratch_.Get<T>((together_ * bands.result_cols() + kLanesOf<T>)*kLanesOf<T>)) {}

  /// Whether a zero in the place of an absent term may show in what was computed.
  bool HasDoubt() const { return doubts_.Found(); }

  void Run(int64_t image, int64_t band, int64_t first_channel) {
    const auto source_lines = bands_.SourceLines(band);
    const int64_t channels = args_.sizes.groups, cols = bands_.result_cols();
    first_ = first_channel;
    count_ = static_cast<int>(std::min(kLanesOf<T>, channels - first_));
    if (args_.bias != nullptr) Store(LoadN(args_.bias + first_, count_), TagOf<T>(), bias_);
    const ImageChannels<T> source{args_.source + image * channels * bands_.source_plane(), bands_.source_plane(),
                                  channels, args_.source_last, first_};
    PackChannels(source, bands_.source_cols(), bands_.before(), bands_.after(), source_lines.begin, source_lines.end,
                 held_);
    T* const result = args_.result + image * channels * bands_.result_plane();
    for (int64_t line = bands_.Begin(band), end; line < bands_.Begin(band + 1); line = end) {
      end = std::min(line + together_, bands_.Begin(band + 1));
      if (args_.result_last && count_ == kLanesOf<T>) {
        RunLines(line, end, result + line * cols * channels + first_, channels);
      } else {
        RunLines(line, end, results_, kLanesOf<T>);
        Unpack(end - line, line * cols, result);
      }
    }
  }

 private:
  /// The results of lines [begin, end), whose places lie `step` numbers apart.
  void RunLines(int64_t begin, int64_t end, T* to, int64_t step) {
    static constexpr auto kRuns = ChannelsTable<T>(std::make_integer_sequence<int, kMaxPositionsTogether>());
    const int64_t cols = bands_.result_cols();
    for (int64_t line = begin; line < end; ++line, to += cols * step) {
      for (const ChannelBands::Run& run : bands_.Runs(line)) {
        const ConvPlan& plan = *run.plan;
        const int64_t positions = plan.positions[2], out_step = plan.result_step[2] * step;
        const int64_t parts = (positions + kMaxPositionsTogether - 1) / kMaxPositionsTogether;
        const ChannelTerms<T> terms{bands_.Rows(run),
                                    plan.kernel[2].count,
                                    held_,
                                    weights_.Of(first_),
                                    plan.TapStep(2) * kLanesOf<T>,
                                    plan.kernel[2].step * kLanesOf<T>,
                                    plan.PositionStep(2) * kLanesOf<T>};
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t first = positions * part / parts, count = positions * (part + 1) / parts - first;
          kRuns[count - 1](terms, first, args_.bias == nullptr ? nullptr : bias_,
                           to + run.first * step + first * out_step, out_step, doubts_);
        }
      }
    }
  }

  /// Puts the results of lines where they belong in an image, whose `place` is their first one.
  void Unpack(int64_t lines, int64_t place, T* image) const {
    const int64_t count = lines * bands_.result_cols(), channels = args_.sizes.groups;
    if (!args_.result_last) {
      return UnpackIntoPlanes(results_, count, count_, bands_.result_plane(),
                              image + first_ * bands_.result_plane() + place);
    }
    for (int64_t k = 0; k < count; ++k) {
      StoreN<T>(Load(TagOf<T>(), results_ + k * kLanesOf<T>), image + (place + k) * channels + first_, count_);
    }
  }

  Scratch scratch_;
  const ConvArgs<T>& args_;
  const ChannelBands& bands_;
  const ChannelWeights<T>& weights_;
  int64_t together_;
  T *bias_, *held_, *results_;
  Doubts<T> doubts_;
  // The channels that are in the lanes.
  int64_t first_ = 0;
  int count_ = 0;
};

/// Convolutions of single channels with one result of each: what the plans of `bands` have. `args` has the whole weight.
template <class T>
void OverChannels(const ConvArgs<T>& args, const ChannelBands& bands) {
  Scratch scratch;
  const ChannelWeights<T> weights = PackWeights(args, scratch);
  const int64_t channels = args.sizes.groups, blocks = NumVectors<T>(channels);
  const int64_t count = args.sizes.n * bands.count() * blocks;
  // At least 3 µs of work a task.
  const int64_t multiplications = (weights.num_taps + 8) * bands.result_plane() * args.sizes.n * channels;
  const int64_t tasks = std::min({count, multiplications / Grain(30000) + 1, int64_t{4} * GetNumThreads()});
  std::atomic<bool> is_sure = true;
  ParallelFor(tasks, [&](int64_t task) HWY_ATTR {
    ChannelBlock<T> channel_block(args, bands, weights);
    for (int64_t i = count * task / tasks; i < count * (task + 1) / tasks; ++i) {
      // Channels that lie side by side are read one after the other: they share lines of the cache, and pages.
      channel_block.Run(i / blocks / bands.count(), i / blocks % bands.count(), i % blocks * kLanesOf<T>);
    }
    if (channel_block.HasDoubt()) is_sure.store(false, std::memory_order_relaxed);
  });
  if (args.sure != nullptr) *args.sure = is_sure.load();
}

#endif  // HWY_TARGET != HWY_SCALAR

/// The same as OverPlanes, where a lane for each channel takes less time. Returns whether it did so.
template <class T>
bool TriesChannels([[maybe_unused]] const ConvArgs<T>& args, [[maybe_unused]] int64_t m) {
#if HWY_TARGET != HWY_SCALAR
  if (SuitsChannels(args, m)) {
    const ChannelBands bands(args.sizes, {&args.plan}, args.plan.positions[2], PlaceBytes(args));
    if (bands.ReadOnce()) return OverChannels(args, bands), true;
  }
#endif
  return false;
}

/// The same as OverEachPhase, of groups with one channel, read and made. Returns whether it did so.
template <class T>
bool TriesChannels([[maybe_unused]] const ConvEachPhaseArgs<T>& args) {
#if HWY_TARGET != HWY_SCALAR
  const ConvArgs<T>& conv = args.conv;
  const ConvSizes& s = conv.sizes;
  if (s.c == 1 && s.o == 1 && s.groups >= kLanesOf<T> && s.output[2] <= kMaxHeldLine) {
    std::vector<const ConvPlan*> plans;
    for (const ConvPlan* plan = args.plans; plan != args.plans + args.num_plans; ++plan) {
      if (!IsByChannel(conv, *plan)) return false;
      plans.push_back(plan);
    }
    const ChannelBands bands(s, plans, s.input[2], PlaceBytes(conv));
    if (bands.ReadOnce() && bands.CoversAll()) return OverChannels(conv, bands), true;
  }
#endif
  return false;
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
