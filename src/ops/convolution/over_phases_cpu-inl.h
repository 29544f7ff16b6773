// SPDX-License-Identifier: MIT
// The gradient by the input of a convolution with a stride: a product for each phase, or one for all.
#pragma once

#include <atomic>
#include <vector>

#include "base/parallel.h"
#include "ops/convolution/convolution_phases.h"
#include "ops/convolution/over_positions_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// PackRows of rows [i, i + rows) of `count`, of `terms` numbers each. A vector may have the rows that follow too.
template <class T>
void TurnTaps(const T* matrix, [[maybe_unused]] int64_t count, int64_t i, int rows, int64_t terms, T* packed) {
#if HWY_TARGET == HWY_SCALAR
  PackRows<T>({matrix, terms, 1}, i, rows, 0, terms, packed);
#else
  for (int first = 0; first < rows; first += kLanesOf<T>) {
    // The last rows overlap those before, or else what a vector has too much is overwritten by the next term.
    const int64_t at = std::max<int64_t>(0, std::min<int64_t>(first, rows - kLanesOf<T>));
    PackTransposed([&](int64_t q) HWY_ATTR { return matrix + std::min(i + at + q, count - 1) * terms; }, kLanesOf<T>,
                   terms, packed + at, rows);
  }
#endif
}

/// Packs the weight of a convolution for its gradient by the input: rows are input channels, terms output channels and
/// the taps of each product.
template <class T>
void PackWeights(const ConvArgs<T>& args, const std::vector<SlotProduct<T, TapChunks>>& products) {
  struct Goal {
    const SlotProduct<T, TapChunks>* product;
    int64_t tap, num_taps;
  };
  const ConvSizes& s = args.sizes;
  const int64_t places = NumPlaces(s.kernel);
  std::vector<Goal> goals(static_cast<size_t>(places), Goal{nullptr, 0, 0});
  for (const auto& product : products) {
    const auto& along = product.plan.kernel;
    for (int64_t tap = 0; tap < product.plan.num_taps(); ++tap) {
      const int64_t row = tap / along[2].count;
      const int64_t place =
          (along[0].At(row / along[1].count) * s.kernel[1] + along[1].At(row % along[1].count)) * s.kernel[2] +
          along[2].At(tap % along[2].count);
      goals[static_cast<size_t>(place)] = {&product, tap, product.plan.num_taps()};
    }
  }
  const RowTiles tiles{s.c};
  // A few output channels of all tiles at a time, as they lie in memory.
  constexpr int64_t kChannels = 8;
  ParallelRanges(
      s.groups * tiles.count, 30000 / (s.o * places * kTileRows) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
        Scratch scratch;
        T* const turned = scratch.Get<T>(places * kTileRows + kLanesOf<T>);
        T** const ends = scratch.Get<T*>(places);  // where the next term of a place goes
        for (int64_t first = 0; first < s.o; first += kChannels) {
          for (int64_t tile = begin; tile < end; ++tile) {
            const int64_t g = tile / tiles.count, i = tiles.Begin(tile % tiles.count);
            const int rows = tiles.Rows(tile % tiles.count);
            for (int64_t place = 0; place < places; ++place) {
              const auto& [product, tap, num_taps] = goals[static_cast<size_t>(place)];
              if (product == nullptr) continue;
              ends[place] =
                  product->RowsOf(g, s.c) + PackedRows<T>::Begin(i, product->num_k()) + (first * num_taps + tap) * rows;
            }
            for (int64_t o = first; o < std::min(s.o, first + kChannels); ++o) {
              const T* const weight = args.other + ((g * s.o + o) * s.c + i) * places;
              for (int64_t q = 0; q < rows * places; q += kLineOf<T>) __builtin_prefetch(weight + s.c * places + q);
              TurnTaps(weight - i * places, s.c, i, rows, places, turned);
              for (int64_t place = 0; place < places; ++place) {
                const Goal& goal = goals[static_cast<size_t>(place)];
                if (goal.product == nullptr) continue;
                // What the last vector has too much, the next term overwrites.
                for (int r = 0; r < rows; r += kLanesOf<T>) {
                  StoreU(LoadU(TagOf<T>(), turned + place * rows + r), TagOf<T>(), ends[place] + r);
                }
                ends[place] += goal.num_taps * rows;
              }
            }
          }
        }
      });
}

/// The gradient by the input, of several phases at a time.
template <class T>
void OverEachPhase(const ConvEachPhaseArgs<T>& args) {
  const ConvArgs<T>& conv = args.conv;
  const ConvSizes& s = conv.sizes;
  Scratch scratch;
  std::vector<SlotProduct<T, TapChunks>> products;
  products.reserve(static_cast<size_t>(args.num_plans));
  for (int64_t phase = 0; phase < args.num_plans; ++phase) {
    auto& product = products.emplace_back(ProductOf(conv, args.plans[phase], s.c));
    product.rows = scratch.Get<T>(s.groups * PackedRows<T>::Begin(s.c, product.num_k()));
  }
  PackWeights(conv, products);
  OverPositions(conv, s.c, products, conv.sure);
}

/// Where the rows of ConvPhases go: (channel, phase).
template <class T>
struct PhaseSink {
  const ConvPhases& phases;
  const ConvPlan::Slots& slots;
  int64_t num_slots;
  T* result;  // of the first image of the group
  int64_t image_stride;
  const T* bias;  // null, or one number a channel
  std::atomic<bool>& sure;

  void Store(int64_t i, int rows, int64_t j, const T* tile) const {
    Doubts<T> doubts;
    for (int r = 0; r < rows; ++r) {
      const int64_t channel = (i + r) / phases.count();
      const ConvPhases::Row& row = phases.rows[static_cast<size_t>((i + r) % phases.count())];
      T* const plane = result + channel * phases.plan.result_size + row.result;
      const T plus = bias == nullptr ? T{0} : bias[channel];
      for (int v = 0; v < kTileVecs && j / kLanesOf<T> + v < num_slots; ++v) {
        const int64_t at = j / kLanesOf<T> + v, slot = at % slots.count;
        for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
          const auto& [lane, length, position, at_result, dense_image, place] = slots.fragments[f];
          if (position[0] < row.low[0] || position[0] >= row.high[0]) continue;
          if (position[1] < row.low[1] || position[1] >= row.high[1]) continue;
          const T* const from = tile + r * kTileColsOf<T> + v * kLanesOf<T> + lane;
          T* const to = plane + at / slots.count * image_stride + at_result;
          const int64_t begin = std::max<int64_t>(0, row.low[2] - position[2]);
          const int64_t end = std::min<int64_t>(length, row.high[2] - position[2]);
          if (begin >= end) continue;
          doubts.Look(LoadN(from + begin, end - begin, T{1}));
          for (int64_t q = begin; q < end; ++q) {
            to[q * phases.plan.result_step[2]] = bias == nullptr ? from[q] : from[q] + plus;
          }
        }
      }
    }
    if (doubts.Found()) sure.store(false, std::memory_order_relaxed);
  }
};

/// Where the chains of ConvPhases end.
struct PhaseChunks {
  const ConvPhases& phases;
  int64_t num_terms = phases.num_terms(), count = phases.num_chunks();

  int64_t Begin(int64_t index) const { return phases.first_channel[index] * phases.plan.num_taps(); }
  int64_t End(int64_t index) const { return Begin(index + 1); }
  int64_t IndexOf(int64_t) const { return 0; }  // of the first term: all are added in one call
};

/// The gradient by the input, as ConvPhases has it.
template <class T>
void OverPhases(const ConvPhasesArgs<T>& args) {
  const ConvArgs<T>& conv = args.conv;
  const ConvPhases& phases = *args.phases;
  const int64_t size = conv.sizes.c * phases.plan.result_size, m = conv.sizes.c * phases.count();
  Scratch scratch;
  std::vector<SlotProduct<T, PhaseChunks>> products;
  products.push_back(
      {conv.plan, PositionTable<T>(conv.plan, conv.sizes.n, phases.channels, 0, false), {phases}, nullptr});
  SlotProduct<T, PhaseChunks>& product = products.front();
  product.rows = scratch.Get<T>(conv.sizes.groups * PackedRows<T>::Begin(m, product.num_k()));
  PackAll(conv.other, conv.sizes.groups, m, product);
  std::atomic<bool> sure = true;
  OverSlots(conv, m, products, [&](const auto&, int64_t g) {
    return PhaseSink<T>{phases,
                        product.table.slots,
                        product.table.num_slots,
                        conv.result + g * size,
                        conv.sizes.groups * size,
                        conv.bias == nullptr ? nullptr : conv.bias + g * conv.sizes.c,
                        sure};
  });
  *conv.sure = sure.load();
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
