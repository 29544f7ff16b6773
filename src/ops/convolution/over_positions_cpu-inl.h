// SPDX-License-Identifier: MIT
// Forward and the gradient by the input as products over all positions.
#pragma once

#include <atomic>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/parallel.h"
#include "ops/convolution/position_cols_cpu-inl.h"
#include "ops/convolution/position_sink_cpu-inl.h"
#include "ops/convolution/tap_chunks.h"
#include "ops/mm/mm_kernel.h"
#include "ops/mm/mm_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Rows of a product, packed once for all of its columns, tile by tile.
template <class T>
struct PackedRows {
  const T* data;
  int64_t num_k;

  /// Where the tile begins that has row i first. Behind each there is room for what a vector has too much.
  static int64_t Begin(int64_t i, int64_t num_k) { return i * (num_k + kLanesOf<T>); }

  const T* Get(int64_t i, int rows, int64_t k, int64_t /*num_k*/, T* /*buffer*/) const {
    return data + Begin(i, num_k) + k * rows;
  }
  void Prefetch(int64_t i, int rows, int64_t k, int64_t count, int64_t part, int64_t parts) const {
    const T* const from = data + Begin(i, num_k) + k * rows;
    for (int64_t at = count * rows * part / parts; at < count * rows * (part + 1) / parts; at += kLineOf<T>) {
      __builtin_prefetch(from + at, 0, 2);
    }
  }
};

/// A product whose columns are slots, for each group.
template <class T, class AnyChunks>
struct SlotProduct {
  const ConvPlan& plan;
  PositionTable<T> table;
  AnyChunks chunks;
  T* rows;  // PackedRows of each group

  int64_t num_k() const { return static_cast<int64_t>(table.offsets.size()); }
  T* RowsOf(int64_t group, int64_t m) const { return rows + group * PackedRows<T>::Begin(m, num_k()); }
};

/// Packs `m` rows a group that lie side by side, a number for each term.
template <class T, class AnyChunks>
void PackAll(const T* matrix, int64_t groups, int64_t m, const SlotProduct<T, AnyChunks>& product) {
  const RowTiles tiles{m};
  const int64_t num_k = product.num_k();
  ParallelRanges(groups * tiles.count, 30000 / (num_k * kTileRows + 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t g = tile / tiles.count, i = tiles.Begin(tile % tiles.count);
      PackRows<T>({matrix + g * m * num_k, num_k, 1}, i, tiles.Rows(tile % tiles.count), 0, num_k,
                  product.RowsOf(g, m) + PackedRows<T>::Begin(i, num_k));
    }
  });
}

/// Parts that each of `jobs` like ones is cut into for the threads: four or more for each, and as many for all.
inline int64_t PartsForThreads(int64_t jobs) {
  const int64_t threads = GetNumThreads();
  if (threads == 1) return 1;
  const int64_t multiple = threads / std::gcd(threads, jobs);
  return ((4 * threads + jobs - 1) / jobs + multiple - 1) / multiple * multiple;
}

/// `m` rows a group times the columns of each product. make_sink(product, g) makes the sink of a group.
template <class T, class AnyChunks, class MakeSink>
void OverSlots(const ConvArgs<T>& args, int64_t m, const std::vector<SlotProduct<T, AnyChunks>>& products,
               const MakeSink& make_sink) {
  struct Share {
    const SlotProduct<T, AnyChunks>* product;
    int64_t group, begin, end;  // panels
  };
  const int64_t groups = args.sizes.groups, wanted = PartsForThreads(groups * static_cast<int64_t>(products.size()));
  std::vector<Share> shares;
  for (const auto& product : products) {
    const int64_t panels = (product.table.num_slots + kTileVecs - 1) / kTileVecs;
    // At least 3 µs of work a share.
    const int64_t work = panels * std::max<int64_t>(1, m * product.num_k() * kTileColsOf<T>) / Grain(100000) + 1;
    const int64_t parts = std::min({panels, work, wanted});
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t part = 0; part < parts; ++part) {
        shares.push_back({&product, g, panels * part / parts, panels * (part + 1) / parts});
      }
    }
  }
  // Columns that do not lie side by side leave the cache sooner.
  constexpr Blocking blocking{.cols = kBlockSlots<T> * kLanesOf<T>};
  ParallelFor(static_cast<int64_t>(shares.size()), [&](int64_t task) HWY_ATTR {
    const Share& share = shares[static_cast<size_t>(task)];
    const auto* const product = share.product;
    const int64_t g = share.group;
    Scratch scratch;
    const auto times = [&](const auto& cols) HWY_ATTR {
      TileProduct<T>(m, share.begin * kTileColsOf<T>, share.end * kTileColsOf<T>, product->chunks,
                     PackedRows<T>{product->RowsOf(g, m), product->num_k()}, cols, make_sink(*product, g),
                     {0, product->num_k()}, blocking);
    };
    if constexpr (std::is_same_v<AnyChunks, TapChunks>) {
      const PositionTable<T>& table = product->table;
      if (table.in_patches) {
        PatchVectors<T> vectors(args, product->plan, g, table.slots);
        return times(DenseCols<T, PatchVectors<T>>(table.num_slots, vectors));
      }
      if (table.is_dense) {
        HeldVectors<T> vectors(args, product->plan, g, table, scratch);
        return times(DenseCols<T, HeldVectors<T>>(table.num_slots, vectors));
      }
    }
    times(PositionCols<T>(args, product->plan, g, product->table, scratch));
  });
}

/// The channels that a plan reads, in order.
inline std::vector<int64_t> AllChannels(const ConvPlan& plan) {
  std::vector<int64_t> channels(static_cast<size_t>(plan.channels));
  std::iota(channels.begin(), channels.end(), int64_t{0});
  return channels;
}

/// A product of `m` rows over channels and taps, without its rows.
template <class T>
SlotProduct<T, TapChunks> ProductOf(const ConvArgs<T>& args, const ConvPlan& plan, int64_t m) {
  const int64_t all_terms = plan.channels * NumPlaces(args.sizes.kernel);
  return {plan, PositionTable<T>(plan, args.sizes.n, AllChannels(plan), m, args.source_last),
          TapChunks(plan, args.sizes.kernel, ChainLength(args.order, all_terms)), nullptr};
}

/// Runs products of `m` rows a group whose results are positions.
template <class T>
void OverPositions(const ConvArgs<T>& args, int64_t m, const std::vector<SlotProduct<T, TapChunks>>& products,
                   bool* sure) {
  std::atomic<bool> is_sure = true;
  OverSlots(args, m, products, [&](const auto& product, int64_t g) {
    const ConvPlan& plan = product.plan;
    const int64_t all_rows = args.sizes.groups * m;
    const bool turned = args.result_last && all_rows > 1;
    const int64_t row_step = turned ? 1 : plan.result_size;
    return PositionSink<T>{plan,
                           product.table.slots,
                           product.table.num_slots,
                           args.result + g * m * row_step,
                           all_rows * plan.result_size,
                           row_step,
                           turned ? all_rows : 1,
                           args.bias == nullptr ? nullptr : args.bias + g * m,
                           m,
                           sure == nullptr ? nullptr : &is_sure};
  });
  if (sure != nullptr) *sure = is_sure.load();
}

/// Forward and the gradient by the input: `m` rows a group of args.other times what the plan reads.
template <class T>
void OverPositions(const ConvArgs<T>& args, int64_t m) {
  Scratch scratch;
  std::vector<SlotProduct<T, TapChunks>> products;
  products.push_back(ProductOf(args, args.plan, m));
  SlotProduct<T, TapChunks>& product = products.front();
  product.rows = scratch.Get<T>(args.sizes.groups * PackedRows<T>::Begin(m, product.num_k()));
  PackAll(args.other, args.sizes.groups, m, product);
  OverPositions(args, m, products, args.sure);
}

/// Whether each image is a plain product, with so many positions that the weight may be packed anew for each.
template <class T>
bool IsPointwise(const ConvArgs<T>& args) {
  const ConvPlan& plan = args.plan;
  const int64_t positions = plan.num_positions();
  return !args.source_last && !args.result_last && plan.IsPlain() && NumPlaces(args.sizes.kernel) == 1 &&
         plan.num_taps() == 1 && plan.plane_size == positions && plan.result_size == positions && positions >= 256;
}

/// The same as OverPositions.
template <class T>
void OverImages(const ConvArgs<T>& args, int64_t m) {
  const ConvPlan& plan = args.plan;
  const int64_t groups = args.sizes.groups, num_k = plan.channels, positions = plan.num_positions();
  const int64_t images = args.sizes.n * groups, panels = (positions + kTileColsOf<T> - 1) / kTileColsOf<T>;
  // At least 3 µs of work a task.
  const int64_t work = panels * std::max<int64_t>(1, m * num_k * kTileColsOf<T>) / Grain(100000) + 1;
  const int64_t parts = std::min({panels, work, PartsForThreads(images)});
  ParallelFor(images * parts, [&](int64_t task) HWY_ATTR {
    const int64_t image = task / parts, g = image % groups, part = task % parts;
    const MatrixOf<T> weight{args.other + g * m * num_k, num_k, 1};
    const MatrixOf<T> pixels{args.source + image * plan.source_size(), positions, 1};
    const T* const bias = args.bias == nullptr ? nullptr : args.bias + g * m;
    TileProduct<T>(
        m, panels * part / parts * kTileColsOf<T>, std::min(positions, panels * (part + 1) / parts * kTileColsOf<T>),
        {num_k, ChainLength(args.order, num_k)}, MatrixRows<T>{weight},
        MatrixCols<T>{pixels, positions, ReadInPlace(m, pixels)},
        MatrixSink<T>{args.result + image * m * positions, positions, 1, positions, bias, nullptr}, {0, num_k});
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
