// SPDX-License-Identifier: MIT
// The gradient by the weight.
#pragma once

#include "base/parallel.h"
#include "ops/convolution/doubts_cpu-inl.h"
#include "ops/convolution/grad_operands_cpu-inl.h"
#include "ops/convolution/over_channel_taps_cpu-inl.h"
#include "ops/mm/mm_kernel.h"
#include "ops/mm/mm_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

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

/// The same as OverTaps, where a lane for each channel takes less time. Returns whether it did so.
template <class T>
bool TriesChannelTaps([[maybe_unused]] const ConvArgs<T>& args) {
#if HWY_TARGET != HWY_SCALAR
  const ConvSizes& s = args.sizes;
  if (s.o == 1 && args.plan.channels == 1 && !args.plan.masked && s.groups >= kLanesOf<T> &&
      args.plan.source[2] <= kMaxHeldLine) {
    for (int64_t together = VectorsTogether(args); together > 0; together /= 2) {
      const ChannelBands bands(s, {&args.plan}, args.plan.positions[2],
                               together * kLanesOf<T> * static_cast<int64_t>(sizeof(T)));
      if (bands.ReadOnce()) return OverChannelTaps(args, bands, together), true;
    }
  }
#endif
  return false;
}

/// The gradient by the weight.
template <class T>
void OverTaps(const ConvArgs<T>& args) {
  if (!TriesChannelTaps(args)) OverTapsAndChannels(args);
  if (args.sure != nullptr) {
    const ConvSizes& s = args.sizes;
    *args.sure = !HasDoubt(args.result, s.groups * s.o * args.plan.channels * args.plan.num_taps());
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
