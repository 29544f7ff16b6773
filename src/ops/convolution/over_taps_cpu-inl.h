// SPDX-License-Identifier: MIT
// The gradient by the weight.
#pragma once

#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "ops/convolution/doubts_cpu-inl.h"
#include "ops/convolution/grad_operands_cpu-inl.h"
#include "ops/mm/mm_kernel.h"
#include "ops/mm/mm_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Visits the terms of the gradient by the weight where each group has one channel, read and made: a vector's lanes are
/// channels, which have the same terms at the same places.
template <class T>
class ChannelVisitor {
 public:
  static constexpr int kChains = 8;

  ChannelVisitor(const ConvArgs<T>& args, int64_t first, const std::vector<int64_t>& offsets, int num_levels,
                 Scratch& scratch)
      : args_(args),
        plan_(args.plan),
        first_(first),
        count_(std::min(kLanesOf<T>, args.sizes.groups - first)),
        offsets_(offsets),
        num_taps_(plan_.num_taps()),
        planes_(scratch.Get<T>(plan_.plane_size * kLanesOf<T> + kLanesOf<T>)),
        source_(scratch.Get<T>(plan_.plane_size * kLanesOf<T>)),
        grad_(scratch.Get<T>(plan_.num_positions() * kLanesOf<T>)),
        sums_(scratch.Get<T>(num_taps_ * kLanesOf<T>)),
        waiting_(scratch.Get<T>(num_levels * num_taps_ * kLanesOf<T>)) {}

  void Chain(int64_t begin, int64_t end) {
    std::fill_n(sums_, num_taps_ * kLanesOf<T>, T{0});
    const int64_t positions = plan_.num_positions(), cols = plan_.positions[2];
    for (int64_t k = begin; k < end;) {
      if (k / positions != image_) LoadImage(k / positions);
      const int64_t position = k % positions, col = position % cols;
      const int64_t length = std::min(end - k, cols - col);
      const int64_t at = plan_.OffsetOf(plan_.FirstOfLine(position / cols)) + col;
      int64_t tap = 0;
      for (; tap + kChains <= num_taps_; tap += kChains) Run<kChains>(tap, position, at, length);
      for (; tap + 4 <= num_taps_; tap += 4) Run<4>(tap, position, at, length);
      for (; tap < num_taps_; ++tap) Run<1>(tap, position, at, length);
      k += length;
    }
  }
  void TakeIn(int level) {
    const TagOf<T> d;
    const T* const earlier = waiting_ + level * num_taps_ * kLanesOf<T>;
    for (int64_t i = 0; i < num_taps_ * kLanesOf<T>; i += kLanesOf<T>) {
      Store(Add(Load(d, earlier + i), Load(d, sums_ + i)), d, sums_ + i);
    }
  }
  void Park(int level) { std::copy_n(sums_, num_taps_ * kLanesOf<T>, waiting_ + level * num_taps_ * kLanesOf<T>); }
  void End() {
    for (int64_t lane = 0; lane < count_; ++lane) {
      T* const to = args_.result + (first_ + lane) * num_taps_;
      for (int64_t tap = 0; tap < num_taps_; ++tap) to[tap] = sums_[tap * kLanesOf<T> + lane];
    }
  }

 private:
  template <int kCount>
  HWY_INLINE void Run(int64_t tap, int64_t position, int64_t at, int64_t length) {
    const TagOf<T> d;
    const T* source[kCount];
    VecElementOf<T> acc[kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      source[i] = source_ + (at + offsets_[tap + i]) * kLanesOf<T>;
      acc[i] = Load(d, sums_ + (tap + i) * kLanesOf<T>);
    }
    const T* const grad = grad_ + position * kLanesOf<T>;
    for (int64_t q = 0; q < length * kLanesOf<T>; q += kLanesOf<T>) {
      const VecOf<T> g = Load(d, grad + q);
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) acc[i] = Fma<VecOf<T>>(g, Load(d, source[i] + q), acc[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) Store(acc[i], d, sums_ + (tap + i) * kLanesOf<T>);
  }

  /// The channels of an image side by side; zeros behind the last one.
  void LoadImage(int64_t image) {
    image_ = image;
    const int64_t plane = image * args_.sizes.groups + first_, positions = plan_.num_positions();
    PutSideBySide(args_.other + plane * positions, positions, grad_);
    for (int64_t lane = 0; lane < count_; ++lane) {
      PadPlane(plan_, args_.source + (plane + lane) * plan_.source_plane(), planes_ + lane * plan_.plane_size);
    }
    PutSideBySide(planes_, plan_.plane_size, source_);
  }

  void PutSideBySide(const T* planes, int64_t size, T* to) const {
#if HWY_TARGET == HWY_SCALAR
    std::copy_n(planes, size, to);
#else
    PackTransposed(planes, size, static_cast<int>(count_), size, to, kLanesOf<T>);
#endif
  }

  const ConvArgs<T>& args_;
  const ConvPlan& plan_;
  int64_t first_, count_;  // channels
  const std::vector<int64_t>& offsets_;
  int64_t num_taps_;
  int64_t image_ = -1;
  T *planes_, *source_, *grad_, *sums_, *waiting_;
};

/// The same as OverTaps, where each group has one channel.
template <class T>
void OverChannels(const ConvArgs<T>& args) {
  const ConvPlan& plan = args.plan;
  const std::vector<int64_t> offsets = plan.TapOffsets();
  const int64_t num_k = args.sizes.n * plan.num_positions();
  const Chunks chunks(num_k, ChainLength(args.order, num_k));
  ParallelFor((args.sizes.groups + kLanesOf<T> - 1) / kLanesOf<T>, [&](int64_t block) HWY_ATTR {
    Scratch scratch;
    ChannelVisitor<T> visitor(args, block * kLanesOf<T>, offsets, NumLevels(chunks.count), scratch);
    WalkChunks(chunks, visitor);
  });
}

/// The gradient by the weight: a product of output channels by (channel, tap), or the same turned, over (image, position).
template <class T>
void OverTapsAndChannels(const ConvArgs<T>& args) {
  const ConvPlan& plan = args.plan;
  const int64_t groups = args.sizes.groups, m = args.sizes.o, n = plan.channels * plan.num_taps();
  // The mask of absent terms is one of columns.
  const bool turned = !plan.masked && CostOfShare<T>(n, m) < CostOfShare<T>(m, n);
  const int64_t num_rows = turned ? n : m, num_cols = turned ? m : n;
  const int64_t num_k = args.sizes.n * plan.num_positions();
  const int64_t window = std::min(Blocking::kMaxBlockK, num_k) / plan.num_positions() + 2;
  const int64_t parts = std::min<int64_t>(GetNumThreads(), groups * m * n * num_k / Grain(100000) + 1);
  Grid grid = groups >= 2 * parts ? Grid{} : CutAmong<T>(num_rows, num_cols, (parts + groups - 1) / groups);
  // A weight smaller than a tile is cut too: the long sum over positions is worth it.
  if (grid.rows * grid.cols * groups < parts) grid.rows = std::min(num_rows, (parts + groups - 1) / groups);
  const int64_t shares = grid.rows * grid.cols;
  const int64_t panels = (num_cols + kTileColsOf<T> - 1) / kTileColsOf<T>;
  const Chunks chunks(num_k, ChainLength(args.order, num_k));
  ParallelFor(groups * shares, [&](int64_t task) HWY_ATTR {
    const int64_t g = task / shares, row = task % shares / grid.cols, col = task % grid.cols;
    const int64_t i0 = num_rows * row / grid.rows, i1 = num_rows * (row + 1) / grid.rows;
    const int64_t j0 = panels * col / grid.cols * kTileColsOf<T>;
    const int64_t j1 = std::min(num_cols, panels * (col + 1) / grid.cols * kTileColsOf<T>);
    Scratch scratch;
    const TapTable<T> table(plan, turned ? i0 : j0, turned ? i1 : j1);
    const PaddedImages<T> images(args, g, table.first_channel, table.end_channel, window, scratch);
    const TapReader<T> reader{plan, table, images, n};
    const int64_t channel_step = args.result_last ? 1 : plan.num_positions(), first_row = turned ? 0 : i0;
    const GradImages<T> grad{args.other + (g * m + first_row) * channel_step, groups * m * plan.num_positions(),
                             channel_step, args.result_last ? groups * m : 1, plan.num_positions()};
    T* const result = args.result + g * m * n;
    if (turned) {
      TileProduct<T>(i1 - i0, j0, j1, chunks, TapRows<T>{reader, i0}, GradCols<T>{grad, m},
                     MatrixSink<T>{result + i0, 1, n, m, nullptr, nullptr}, {0, num_k});
    } else {
      TileProduct<T>(i1 - i0, j0, j1, chunks, GradRows<T>{grad}, TapCols<T>{reader},
                     MatrixSink<T>{result + i0 * n, n, 1, n, nullptr, nullptr}, {0, num_k});
    }
  });
}

/// The gradient by the weight.
template <class T>
void OverTaps(const ConvArgs<T>& args) {
  const ConvSizes& s = args.sizes;
  const bool by_channel = s.o == 1 && args.plan.channels == 1 && !args.plan.masked && s.groups >= kLanesOf<T> &&
                          !args.source_last && !args.result_last;
  by_channel ? OverChannels(args) : OverTapsAndChannels(args);
  if (args.sure != nullptr) {
    *args.sure = !HasDoubt(args.result, s.groups * s.o * args.plan.channels * args.plan.num_taps());
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
