// SPDX-License-Identifier: MIT
// Convolutions of groups that have one channel to read, a lane for each channel of the result. A lane is idle only where
// channels are few, and vectors are read where they begin, however small the planes and whatever the stride.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/transpose_cpu-inl.h"
#include "ops/convolution/doubts_cpu-inl.h"
#include "ops/convolution/position_sink_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Positions of a line whose chains run side by side: with a vector of weights they fill the registers of most targets.
inline constexpr int kMaxPositionsTogether = 12;

/// What the positions of a line read: a vector for each tap.
template <class T>
struct ChannelTerms {
  struct Row {        // taps along the last axis
    const T* source;  // what the first one reads at the first position
    const T* weight;
  };
  const Row* rows;
  int64_t num_rows, num_taps;  // taps of a row
  int64_t tap_step, step;      // of the source, from tap to tap and from position to position
};

/// out[p] = the chains of kCount positions from number `first` of the line on, plus the bias.
template <class T, int kCount>
HWY_NOINLINE void RunChannels(const ChannelTerms<T>& terms, int64_t first, const T* bias, T* out, Doubts<T>& doubts) {
  const TagOf<T> d;
  VecElementOf<T> acc[kCount];
#pragma GCC unroll 12
  for (int p = 0; p < kCount; ++p) acc[p] = Zero(d);
  const int64_t step = terms.step, tap_step = terms.tap_step, num_taps = terms.num_taps;
  for (int64_t row = 0; row < terms.num_rows; ++row) {
    const T* HWY_RESTRICT from = terms.rows[row].source + first * step;
    const T* HWY_RESTRICT weight = terms.rows[row].weight;
    for (int64_t tap = 0; tap < num_taps; ++tap, from += tap_step, weight += kLanesOf<T>) {
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
  for (int p = 0; p < kCount; ++p) Store(acc[p], d, out + p * kLanesOf<T>);
}

template <class T>
using ChannelsFn = void (*)(const ChannelTerms<T>&, int64_t, const T*, T*, Doubts<T>&);

template <class T, int... kCounts>
constexpr auto ChannelsTable(std::integer_sequence<int, kCounts...>) {
  return std::array<ChannelsFn<T>, sizeof...(kCounts)>{&RunChannels<T, kCounts + 1>...};
}

/// How the positions of a plane are cut into bands of lines, and what of the source is held for a band: its lines from the
/// first to the last one that is read, with zeros before and behind where taps reach out of them.
class ChannelBands {
 public:
  /// `place_bytes` is what is read of the channels of a place before the next band.
  ChannelBands(const ConvPlan& plan, int64_t place_bytes) : plan_(plan) {
    const int64_t reach = (plan.kernel[2].count - 1) * plan.TapStep(2), first = plan.FirstPlace(2);
    const int64_t last = first + (plan.positions[2] - 1) * plan.PositionStep(2);
    before_ = std::max<int64_t>(0, -std::min(first, first + reach));
    width_ = before_ + std::max(plan.source[2], std::max(last, last + reach) + 1);
    // What the nearest caches hold, of the source and of the weights.
    constexpr int64_t kMaxBytes = int64_t{192} << 10;
    lines_ = std::max<int64_t>(1, plan.num_lines());
    for (FindSourceLines(); lines_ > 1 && most_lines_ * width_ * place_bytes > kMaxBytes; FindSourceLines()) {
      lines_ = (lines_ + 1) / 2;
    }
  }

  int64_t count() const { return (plan_.num_lines() + lines_ - 1) / lines_; }
  int64_t Begin(int64_t band) const { return std::min(band * lines_, plan_.num_lines()); }
  int64_t width() const { return width_; }
  int64_t before() const { return before_; }

  /// Lines of the source, counted through all planes of an image, that a band reads.
  struct Lines {
    int64_t begin, end;

    int64_t count() const { return end - begin; }
  };
  const Lines& SourceLines(int64_t band) const { return source_lines_[static_cast<size_t>(band)]; }
  /// Of a band, at most.
  int64_t most_lines() const { return most_lines_; }
  /// Whether each line of the source is held about once.
  bool ReadOnce() const { return all_lines_ <= 2 * plan_.source[0] * plan_.source[1]; }

  /// row(tap, line) for lines [begin, end) of positions: the first tap of each row of taps that reads a line of the source,
  /// and that line.
  template <class Row>
  void ForRows(int64_t begin, int64_t end, const Row& row) const {
    for (int64_t at = begin; at < end; ++at) {
      const Axes position = plan_.FirstOfLine(at);
      for (int64_t t = 0; t < plan_.kernel[0].count; ++t) {
        if (!plan_.IsPresent(0, t, position[0])) continue;
        for (int64_t u = 0; u < plan_.kernel[1].count; ++u) {
          if (!plan_.IsPresent(1, u, position[1])) continue;
          row((t * plan_.kernel[1].count + u) * plan_.kernel[2].count,
              Place(0, t, position) * plan_.source[1] + Place(1, u, position));
        }
      }
    }
  }

 private:
  int64_t Place(int axis, int64_t tap, const Axes& position) const {
    return plan_.FirstPlace(axis) + position[axis] * plan_.PositionStep(axis) + tap * plan_.TapStep(axis);
  }

  void FindSourceLines() {
    source_lines_.clear(), most_lines_ = all_lines_ = 0;
    for (int64_t band = 0; band < count(); ++band) {
      Lines lines{plan_.source[0] * plan_.source[1], 0};
      ForRows(Begin(band), Begin(band + 1), [&](int64_t, int64_t line) {
        lines.begin = std::min(lines.begin, line), lines.end = std::max(lines.end, line + 1);
      });
      lines.begin = std::min(lines.begin, lines.end);
      source_lines_.push_back(lines);
      most_lines_ = std::max(most_lines_, lines.count()), all_lines_ += lines.count();
    }
  }

  const ConvPlan& plan_;
  int64_t before_, width_;
  int64_t lines_;                    // of positions in a band
  std::vector<Lines> source_lines_;  // of each
  int64_t most_lines_ = 0, all_lines_ = 0;
};

/// to[place] = a vector of channels for each place of lines [begin, end); load(place, count, t) gives those of some places.
template <class T, class LoadPlaces>
void PackChannels(const ConvPlan& plan, const ChannelBands& bands, int64_t begin, int64_t end, const LoadPlaces& load,
                  T* to) {
  const TagOf<T> d;
  const int64_t cols = plan.source[2], after = bands.width() - cols - bands.before();
  const auto fill = [&](int64_t count) HWY_ATTR {
    for (int64_t i = 0; i < count; ++i, to += kLanesOf<T>) Store(Zero(d), d, to);
  };
  int64_t col = 0;
  for (int64_t place = begin * cols; place < end * cols; place += kLanesOf<T>) {
    const int64_t count = std::min(kLanesOf<T>, end * cols - place);
    VecElementOf<T> t[kLanesOf<T>];
    load(place, count, t);
    for (int64_t q = 0; q < count; ++q) {
      if (col == 0) fill(bands.before());
      Store(t[q], d, to);
      to += kLanesOf<T>;
      if (++col == cols) fill(after), col = 0;
    }
  }
}

/// Loads places of planes, of channel i at row(i).
template <class T, class Row>
HWY_INLINE void LoadOfPlanes(const Row& row, int64_t place, int64_t count, VecElementOf<T>* t) {
  if (count == kLanesOf<T>) return LoadTransposed<T>([&](int64_t i) HWY_ATTR { return row(i) + place; }, t);
#pragma GCC unroll 16
  for (int64_t i = 0; i < kLanesOf<T>; ++i) t[i] = LoadN(row(i) + place, count);
  TransposeSquare<T>(t);
}

/// Puts `count` positions, a vector of channels each, into the planes of the `rows` first channels, `step` places apart.
template <class T>
void UnpackIntoPlanes(const T* from, int64_t count, int rows, int64_t step, int64_t plane, T* to) {
  const TagOf<T> d;
  for (int64_t k = 0; k < count; k += kLanesOf<T>) {
    VecElementOf<T> t[kLanesOf<T>];
#pragma GCC unroll 16
    for (int64_t q = 0; q < kLanesOf<T>; ++q) t[q] = Load(d, from + (k + q) * kLanesOf<T>);
    TransposeSquare<T>(t);
    const auto length = static_cast<int>(std::min(kLanesOf<T>, count - k));
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanesOf<T>; ++i) {
      if (i < rows) StoreSpaced<T>(t[i], to + i * plane + k * step, length, step);
    }
  }
}

/// The bands for a vector of channels, or for all of them where they lie side by side.
template <class T>
ChannelBands MakeChannelBands(const ConvArgs<T>& args) {
  const int64_t channels = args.source_last ? std::max(args.sizes.groups / 2, kLanesOf<T>) : kLanesOf<T>;
  return ChannelBands(args.plan, channels * static_cast<int64_t>(sizeof(T)));
}

/// Whether OverChannels takes less time than others, if each number goes to its lane about once: channels lie side by side,
/// or most lanes have one, and planes are small, or taps many.
template <class T>
bool SuitsChannels(const ConvArgs<T>& args, int64_t m) {
  const ConvPlan& plan = args.plan;
  // Several results of a channel share what they read of a plane.
  if (m > 1 || plan.source_plane() == 0 || plan.num_positions() == 0) return false;
  if (args.source_last || args.result_last) return true;
  if (plan.source[2] > kMaxHeldLine) return false;
  const int64_t channels = args.sizes.groups, lanes = kLanesOf<T>;
  if (channels * 4 < (channels + lanes - 1) / lanes * lanes * 3) return false;
  // In quarters of a cycle, as measured; a vector that spans two lines of the cache takes two loads.
  constexpr int64_t kPerLoad = HWY_MAX_BYTES == 64 ? 8 : 6, kPerSlot = 24, kPerLine = 40, kPerTap = 5;
  const int64_t per_place = MeetInCache(MatrixOf<T>{args.source, plan.source_plane(), 1}) ? 44 : 28;
  const int64_t slots = plan.num_lines() * ((plan.positions[2] + lanes - 1) / lanes);
  const int64_t by_plane = lanes * (slots * (plan.num_taps() * kPerLoad + kPerSlot) + plan.num_lines() * kPerLine);
  const int64_t positions = plan.num_positions();
  return (plan.source_plane() + positions) * per_place + positions * plan.num_taps() * kPerTap < by_plane;
}

/// Weights of vectors of channels, packed: those of each vector lie side by side.
template <class T>
struct ChannelWeights {
  T* data;
  int64_t num_taps;

  T* Of(int64_t first_channel) const { return data + first_channel * num_taps; }
};

template <class T>
ChannelWeights<T> PackWeights(const ConvArgs<T>& args, Scratch& scratch) {
  const int64_t channels = args.sizes.groups, blocks = (channels + kLanesOf<T> - 1) / kLanesOf<T>;
  const int64_t num_taps = args.plan.num_taps();
  const ChannelWeights<T> weights{scratch.Get<T>(blocks * kLanesOf<T> * num_taps), num_taps};
  ParallelRanges(blocks, 1024 / num_taps + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t first = begin * kLanesOf<T>; first < end * kLanesOf<T>; first += kLanesOf<T>) {
      // Idle lanes repeat the last channel, which leaves no more doubts than there are.
      const auto row = [&](int64_t lane)
                           HWY_ATTR { return args.other + std::min(first + lane, channels - 1) * num_taps; };
      PackTransposed(row, static_cast<int>(kLanesOf<T>), num_taps, weights.Of(first), kLanesOf<T>);
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
        plan_(args.plan),
        bands_(bands),
        weights_(weights),
        cols_(plan_.positions[2]),
        num_runs_((cols_ + kMaxPositionsTogether - 1) / kMaxPositionsTogether),
        // What the lines that go on together read stays in the nearest cache from one of them to the next.
        together_(std::max<int64_t>(8, 4 * kLanesOf<T> / cols_)),
        bias_(scratch_.Get<T>(kLanesOf<T>)),
        held_(scratch_.Get<T>(bands.most_lines() * bands.width() * kLanesOf<T>)),
        results_(scratch_.Get<T>((together_ * cols_ + kLanesOf<T>)*kLanesOf<T>)) {}

  /// Whether a zero in the place of an absent term may show in what was computed.
  bool HasDoubt() const { return doubts_.Found(); }

  void Run(int64_t image, int64_t band, int64_t first_channel) {
    const auto source_lines = bands_.SourceLines(band);
    const int64_t channels = args_.sizes.groups;
    first_ = first_channel;
    count_ = static_cast<int>(std::min(kLanesOf<T>, channels - first_));
    if (args_.bias != nullptr) Store(LoadN(args_.bias + first_, count_), TagOf<T>(), bias_);
    const T* const source = args_.source + image * channels * plan_.source_plane();
    if (args_.source_last) {
      const auto load = [&](int64_t place, int64_t count, VecElementOf<T>* t) HWY_ATTR {
        for (int64_t q = 0; q < count; ++q) t[q] = LoadN(source + (place + q) * channels + first_, count_, T{1});
      };
      PackChannels(plan_, bands_, source_lines.begin, source_lines.end, load, held_);
    } else {
      const auto row = [&](int64_t lane)
                           HWY_ATTR { return source + std::min(first_ + lane, channels - 1) * plan_.source_plane(); };
      const auto load = [&](int64_t place, int64_t count, VecElementOf<T>* t)
                            HWY_ATTR { LoadOfPlanes<T>(row, place, count, t); };
      PackChannels(plan_, bands_, source_lines.begin, source_lines.end, load, held_);
    }
    T* const result = args_.result + image * channels * plan_.result_size;
    for (int64_t line = bands_.Begin(band), end; line < bands_.Begin(band + 1); line = end) {
      end = std::min(line + together_, bands_.Begin(band + 1));
      RunLines(line, end, source_lines.begin);
      // Lines that lie side by side leave in one go.
      const int64_t at_once = plan_.num_positions() == plan_.result_size ? end - line : 1;
      for (int64_t i = line; i < end; i += at_once) {
        const Axes at = plan_.FirstOfLine(i);
        const int64_t place = plan_.first_result + at[0] * plan_.result_step[0] + at[1] * plan_.result_step[1];
        const int64_t step = plan_.result_step[2], count = at_once * cols_;
        const T* const from = results_ + (i - line) * cols_ * kLanesOf<T>;
        if (args_.result_last) {
          T* const to = result + place * channels + first_;
          for (int64_t k = 0; k < count; ++k) {
            StoreN<T>(Load(TagOf<T>(), from + k * kLanesOf<T>), to + k * step * channels, count_);
          }
        } else {
          UnpackIntoPlanes(from, count, count_, step, plan_.result_size, result + first_ * plan_.result_size + place);
        }
      }
    }
  }

 private:
  /// The results of lines [begin, end).
  void RunLines(int64_t begin, int64_t end, int64_t first_held) {
    static constexpr auto kRuns = ChannelsTable<T>(std::make_integer_sequence<int, kMaxPositionsTogether>());
    const int64_t first = bands_.before() + plan_.FirstPlace(2);
    rows_.clear(), lines_.clear();
    for (int64_t line = begin; line < end; ++line) {
      const size_t before = rows_.size();
      bands_.ForRows(line, line + 1, [&](int64_t tap, int64_t from) HWY_ATTR {
        rows_.push_back({held_ + ((from - first_held) * bands_.width() + first) * kLanesOf<T>,
                         weights_.Of(first_) + tap * kLanesOf<T>});
      });
      lines_.push_back(static_cast<int64_t>(rows_.size() - before));
    }
    for (int64_t run = 0; run < num_runs_; ++run) {
      const int64_t col = cols_ * run / num_runs_;
      const auto run_channels = kRuns[cols_ * (run + 1) / num_runs_ - col - 1];
      T* out = results_ + col * kLanesOf<T>;
      const auto* rows = rows_.data();
      for (const int64_t num_rows : lines_) {
        run_channels({rows, num_rows, plan_.kernel[2].count, plan_.TapStep(2) * kLanesOf<T>,
                      plan_.PositionStep(2) * kLanesOf<T>},
                     col, args_.bias == nullptr ? nullptr : bias_, out, doubts_);
        rows += num_rows, out += cols_ * kLanesOf<T>;
      }
    }
  }

  Scratch scratch_;
  const ConvArgs<T>& args_;
  const ConvPlan& plan_;
  const ChannelBands& bands_;
  const ChannelWeights<T>& weights_;
  int64_t cols_, num_runs_, together_;
  T *bias_, *held_, *results_;
  std::vector<typename ChannelTerms<T>::Row> rows_;
  std::vector<int64_t> lines_;  // the number of rows of each
  Doubts<T> doubts_;
  // The channels that are in the lanes.
  int64_t first_ = 0;
  int count_ = 0;
};

/// The same as OverPlanes, with one result of each channel.
template <class T>
void OverChannels(const ConvArgs<T>& args, const ChannelBands& bands) {
  Scratch scratch;
  const ChannelWeights<T> weights = PackWeights(args, scratch);
  const int64_t channels = args.sizes.groups, blocks = (channels + kLanesOf<T> - 1) / kLanesOf<T>;
  const int64_t count = args.sizes.n * bands.count() * blocks;
  // At least 3 µs of work a task.
  const int64_t multiplications = (args.plan.num_taps() + 8) * args.plan.num_positions() * args.sizes.n * channels;
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

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
