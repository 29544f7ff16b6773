// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/tile_cpu-inl.h"
#include "ops/conv2d/conv2d_kernel.h"
#include "ops/mm/mm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Source images, the channels of group `group` each: padded copies of the last few, or where they lie.
template <class T>
class PaddedImages {
 public:
  PaddedImages(const Conv2dArgs<T>& args, int64_t group, int64_t window, Scratch& scratch)
      : plan_(args.plan),
        source_(args.source + group * plan_.source_size()),
        image_stride_(args.sizes.groups * plan_.source_size()),
        // What is read past its end must lie in the image that follows.
        num_in_place_(plan_.IsPlain() ? args.sizes.n - 1 : 0),
        window_(window),
        held_(scratch.Get<int64_t>(window)),
        data_(scratch.Get<T>(window * ImageSize() + kLanesOf<T>)) {
    std::fill(held_, held_ + window, int64_t{-1});
  }

  /// Image `n`; pointers to the `window` images last asked for stay good.
  const T* Image(int64_t n) const {
    if (n < num_in_place_) return source_ + n * image_stride_;
    T* const image = data_ + n % window_ * ImageSize();
    if (held_[n % window_] != n) {
      for (int64_t c = 0; c < plan_.channels; ++c) {
        plan_.Pad(source_ + n * image_stride_ + c * plan_.source_h * plan_.source_w, image + c * plan_.plane_size);
      }
      held_[n % window_] = n;
    }
    return image;
  }

 private:
  int64_t ImageSize() const { return plan_.channels * plan_.plane_size; }

  const ConvPlan& plan_;
  const T* source_;
  int64_t image_stride_;
  int64_t num_in_place_;
  int64_t window_;
  int64_t* held_;
  T* data_;
};

/// What the panels of PositionCols share: the slots of an image, and where term k = (channel, tap) lies.
template <class T>
struct PositionTable {
  ConvPlan::Slots slots;
  std::vector<int64_t> offsets;
  std::vector<uint32_t> present_at;

  explicit PositionTable(const ConvPlan& plan) : slots(plan.MakeSlots(static_cast<int>(kLanesOf<T>))) {
    const std::vector<int64_t> tap_offsets = plan.TapOffsets();
    for (int64_t channel = 0; channel < plan.channels; ++channel) {
      for (int64_t tap = 0; tap < plan.taps(); ++tap) {
        offsets.push_back(channel * plan.plane_size + tap_offsets[tap]);
        present_at.push_back(static_cast<uint32_t>(tap * kMaskBytesOf<T>));
      }
    }
  }
};

/// Right operand with (image, slot) as vectors of columns and (channel, tap) as k, read in place.
template <class T>
class PositionCols {
 public:
  const ConvPlan& plan;
  const PositionTable<T>& table;
  const PaddedImages<T>& images;
  int64_t num_slots;  // of all images

  static constexpr bool kByVector = true, kMayMask = true, kPacks = false;

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t /*num_k*/, T* /*buffer*/, int64_t /*buffer_stride*/,
           PanelOf<T>* panels) const {
    for (int64_t j = j0; j < j1; j += kTileColsOf<T>) panels[(j - j0) / kTileColsOf<T>] = Get(j, k);
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}

 private:
  PanelOf<T> Get(int64_t j, int64_t k) const {
    PanelOf<T> panel;
    bool masked = false;
    for (int v = 0; v < kTileVecs; ++v) {
      // A panel behind the end repeats the last slot: nobody reads it.
      const int64_t at = std::min(j / kLanesOf<T> + v, num_slots - 1);
      const int64_t slot = at % table.slots.count;
      panel.vectors[v] = images.Image(at / table.slots.count) + table.slots.source[slot];
      if (plan.masked) {
        panel.present[v] = table.slots.present.data() + slot * plan.taps() * kMaskBytesOf<T>;
        masked = masked || table.slots.masked[slot] != 0;
      }
    }
    panel.offsets = table.offsets.data() + k;
    if (masked) panel.present_at = table.present_at.data() + k;
    return panel;
  }
};

/// Where the columns of PositionCols go.
template <class T>
struct PositionSink {
  const ConvPlan& plan;
  const ConvPlan::Slots& slots;
  int64_t num_slots;
  T* result;  // of the first image of the group
  int64_t image_stride;
  const T* bias;  // null, or one number a row

  T* InPlace(int64_t, int64_t) const { return nullptr; }
  int64_t InPlaceStride() const { return 0; }
  const T* InPlaceRowBias(int64_t) const { return nullptr; }
  const T* InPlaceColBias(int64_t) const { return nullptr; }
  void Store(int64_t i, int rows, int64_t j, T* tile) const {
    const TagOf<T> d;
    const int64_t step = plan.result_col_step;
    for (int v = 0; v < kTileVecs && j / kLanesOf<T> + v < num_slots; ++v) {
      const int64_t at = j / kLanesOf<T> + v, slot = at % slots.count;
      T* const image = result + at / slots.count * image_stride + i * plan.result_size + plan.first_result;
      for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
        const auto [lane, length, row, col] = slots.fragments[f];
        T* to = image + row * plan.result_row_step + col * step;
        const T* from = tile + v * kLanesOf<T> + lane;
        for (int r = 0; r < rows; ++r, from += kTileColsOf<T>, to += plan.result_size) {
          VecOf<T> value = LoadU(d, from);
          if (bias != nullptr) value = Add(value, Set(d, bias[i + r]));
          if (step == 1) {
            StoreN(value, to, length);
          } else {
            HWY_ALIGN T lanes[kLanesOf<T>];
            StoreU(value, d, lanes);
            for (int q = 0; q < length; ++q) to[q * step] = lanes[q];
          }
        }
      }
    }
  }
};

/// Where the chains of a product over channels and taps end. They are counted by all terms, of which the plan may lack
/// some, and the ends by the terms that it has: a chunk may have none.
struct TapChunks {
  const ConvPlan& plan;
  const Conv2dSizes& sizes;
  Chunks all;  // of the terms of all taps
  int64_t num_terms = plan.channels * plan.taps(), count = all.count;

  int64_t Begin(int64_t index) const { return plan.TermsBelow(all.Begin(index), sizes); }
  int64_t End(int64_t index) const { return plan.TermsBelow(all.End(index), sizes); }
  int64_t IndexOf(int64_t) const { return 0; }  // of the first term: all are added in one call
};

/// Forward and the gradient by the input: `m` rows a group of args.other times what the plan reads.
template <class T>
void OverPositions(const Conv2dArgs<T>& args, int64_t m) {
  const ConvPlan& plan = args.plan;
  const PositionTable<T> table(plan);
  const int64_t groups = args.sizes.groups, num_k = plan.channels * plan.taps();
  const int64_t all_terms = plan.channels * args.sizes.kh * args.sizes.kw;
  const TapChunks chunks{plan, args.sizes, {all_terms, ChainLength(args.order, all_terms)}};
  const int64_t num_slots = args.sizes.n * table.slots.count;
  const int64_t panels = (num_slots + kTileVecs - 1) / kTileVecs;
  // At least 3 µs of work a task.
  const int64_t work = panels * std::max<int64_t>(1, m * num_k * kTileColsOf<T>) / 100000 + 1;
  const int64_t parts = std::min({panels, work, int64_t{4} * GetNumThreads()});
  // Columns that are read in place, and not side by side, leave the cache sooner.
  constexpr Blocking blocking{.cols = 4096 / sizeof(T)};
  const int64_t window = std::min(blocking.cols / kLanesOf<T>, num_slots) / table.slots.count + 2;
  ParallelFor(groups * parts, [&](int64_t task) HWY_ATTR {
    const int64_t g = task / parts, part = task % parts;
    Scratch scratch;
    const PaddedImages<T> images(args, g, window, scratch);
    const PositionSink<T> sink{plan,
                               table.slots,
                               num_slots,
                               args.result + g * m * plan.result_size,
                               groups * m * plan.result_size,
                               args.bias == nullptr ? nullptr : args.bias + g * m};
    TileProduct<T>(m, panels * part / parts * kTileColsOf<T>, panels * (part + 1) / parts * kTileColsOf<T>, chunks,
                   MatrixRows<T>{MatrixOf<T>{args.other + g * m * num_k, num_k, 1}},
                   PositionCols<T>{plan, table, images, num_slots}, sink, {0, num_k}, blocking);
  });
}

/// Whether each image is a plain product, with so many positions that the weight may be packed anew for each.
template <class T>
bool IsPointwise(const Conv2dArgs<T>& args) {
  const ConvPlan& plan = args.plan;
  const int64_t positions = plan.positions();
  return plan.IsPlain() && args.sizes.kh * args.sizes.kw == 1 && plan.taps() == 1 && plan.plane_size == positions &&
         plan.result_size == positions && positions >= 256;
}

/// The same as OverPositions.
template <class T>
void OverImages(const Conv2dArgs<T>& args, int64_t m) {
  const ConvPlan& plan = args.plan;
  const int64_t groups = args.sizes.groups, num_k = plan.channels, positions = plan.positions();
  const int64_t images = args.sizes.n * groups, panels = (positions + kTileColsOf<T> - 1) / kTileColsOf<T>;
  // At least 3 µs of work a task.
  const int64_t work = panels * std::max<int64_t>(1, m * num_k * kTileColsOf<T>) / 100000 + 1;
  const int64_t parts = std::min({panels, work, 4 * GetNumThreads() / images + 1});
  ParallelFor(images * parts, [&](int64_t task) HWY_ATTR {
    const int64_t image = task / parts, g = image % groups, part = task % parts;
    const MatrixOf<T> weight{args.other + g * m * num_k, num_k, 1};
    const MatrixOf<T> pixels{args.source + image * plan.source_size(), positions, 1};
    const T* const bias = args.bias == nullptr ? nullptr : args.bias + g * m;
    TileProduct<T>(
        m, panels * part / parts * kTileColsOf<T>, std::min(positions, panels * (part + 1) / parts * kTileColsOf<T>),
        {num_k, ChainLength(args.order, num_k)}, MatrixRows<T>{weight},
        MatrixCols<T>{pixels, positions, m <= kMaxRowsInPlace},
        MatrixSink<T>{args.result + image * m * positions, positions, 1, positions, bias, nullptr}, {0, num_k});
  });
}

/// Left operand of the gradient by the weight: output channels by (image, position).
template <class T>
struct GradRows {
  const T* grad_output;  // of the first image of the group
  int64_t image_stride;
  int64_t positions;

  const T* Get(int64_t i, int rows, int64_t k, int64_t num_k, T* buffer) const {
    for (int64_t done = 0; done < num_k;) {
      const int64_t position = (k + done) % positions;
      const int64_t length = std::min(num_k - done, positions - position);
      const MatrixOf<T> image{grad_output + (k + done) / positions * image_stride, positions, 1};
      PackRows(image, i, rows, position, length, buffer + done * rows);
      done += length;
    }
    return buffer;
  }
  void Prefetch(int64_t, int, int64_t, int64_t, int64_t, int64_t) const {}
};

/// What the panels of a range of TapCols share: where the taps lie, and which terms are present, as bits of the columns
/// at each position.
template <class T>
struct TapTable {
  int64_t first_column, positions;
  std::vector<int64_t> tap_offsets;
  std::vector<uint8_t> present;      // (panel, vector, position), kMaskBytesOf<T> each; empty if none is absent
  std::vector<uint32_t> present_at;  // by position, over and over for a block

  TapTable(const ConvPlan& plan, int64_t first_column, int64_t end_column)
      : first_column(first_column), positions(plan.positions()), tap_offsets(plan.TapOffsets()) {
    if (!plan.masked) return;
    const int64_t kernel_cols = plan.kernel_cols.count;
    const int64_t vectors = (end_column - first_column + kTileColsOf<T> - 1) / kTileColsOf<T> * kTileVecs;
    present.reserve(static_cast<size_t>(vectors * positions * kMaskBytesOf<T>));
    for (int64_t first = first_column; first < first_column + vectors * kLanesOf<T>; first += kLanesOf<T>) {
      // Bit i is of column first + i; those behind the end count as present.
      const auto lanes_with = [&](const auto& has) {
        uint64_t bits = 0;
        for (int64_t i = 0; i < kLanesOf<T>; ++i) {
          if (first + i >= end_column || has((first + i) % plan.taps())) bits |= uint64_t{1} << i;
        }
        return bits;
      };
      std::vector<uint64_t> by_col;
      for (int64_t col = 0; col < plan.cols; ++col) {
        by_col.push_back(lanes_with([&](int64_t tap) { return plan.IsColPresent(tap % kernel_cols, col); }));
      }
      for (int64_t row = 0; row < plan.rows; ++row) {
        const uint64_t by_row = lanes_with([&](int64_t tap) { return plan.IsRowPresent(tap / kernel_cols, row); });
        for (const uint64_t bits : by_col) {
          for (int byte = 0; byte < kMaskBytesOf<T>; ++byte) {
            present.push_back(static_cast<uint8_t>((by_row & bits) >> 8 * byte));
          }
        }
      }
    }
    for (int64_t i = 0; i < positions + Blocking::kMaxBlockK; ++i) {
      present_at.push_back(static_cast<uint32_t>(i % positions * kMaskBytesOf<T>));
    }
  }
};

/// Right operand of the gradient by the weight: (channel, tap) as columns and (image, position) as k.
template <class T>
class TapCols {
 public:
  const ConvPlan& plan;
  const TapTable<T>& table;
  const PaddedImages<T>& images;
  int64_t num_cols;

  static constexpr bool kByVector = false, kMayMask = true, kPacks = true;

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t num_k, T* buffer, int64_t buffer_stride,
           PanelOf<T>* panels) const {
    for (int64_t j = j0, p = 0; j < j1; j += kTileColsOf<T>, ++p)
      panels[p] = Get(j, k, num_k, buffer + p * buffer_stride);
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}

 private:
  PanelOf<T> Get(int64_t j, int64_t k, int64_t num_k, T* buffer) const {
    // Columns behind the last one repeat it: nobody reads their sums.
    const int64_t cols = std::min<int64_t>(kTileColsOf<T>, num_cols - j);
    int64_t offset[kTileColsOf<T>];
    for (int64_t q = 0; q < kTileColsOf<T>; ++q) {
      const int64_t column = j + std::min(q, cols - 1);
      offset[q] = column / plan.taps() * plan.plane_size + table.tap_offsets[column % plan.taps()];
    }
    for (int64_t done = 0; done < num_k;) {
      const int64_t position = (k + done) % plan.positions();
      const int64_t row = position / plan.cols, col = position % plan.cols;
      const int64_t length = std::min(num_k - done, plan.cols - col);
      const T* source = images.Image((k + done) / plan.positions()) + row * plan.row_step + col;
      PackRun(source, offset, length, buffer + done * kTileColsOf<T>);
      done += length;
    }
    PanelOf<T> panel{.b = buffer, .stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
    if (plan.masked) {
      for (int v = 0; v < kTileVecs; ++v) {
        panel.present[v] =
            table.present.data() + ((j - table.first_column) / kLanesOf<T> + v) * table.positions * kMaskBytesOf<T>;
      }
      panel.present_at = table.present_at.data() + k % table.positions;
    }
    return panel;
  }

  /// to[i * kTileColsOf<T> + q] = source[i + offset[q]]
  static void PackRun(const T* source, const int64_t* offset, int64_t length, T* to) {
#if HWY_TARGET == HWY_SCALAR
    for (int64_t i = 0; i < length; ++i, ++source) {
      for (int q = 0; q < kTileColsOf<T>; ++q) to[i * kTileColsOf<T> + q] = source[offset[q]];
    }
#else
    for (int q = 0; q < kTileColsOf<T>; q += kLanesOf<T>) {
      PackTransposed([&](int64_t i) HWY_ATTR { return source + offset[q + i]; }, kLanesOf<T>, length, to + q,
                     kTileColsOf<T>);
    }
#endif
  }
};

/// `m` is the number of results' channels in a group.
template <class T>
void OverAny(const Conv2dArgs<T>& args, int64_t m) {
  IsPointwise(args) ? OverImages(args, m) : OverPositions(args, m);
}

/// The gradient by the weight.
template <class T>
void OverTaps(const Conv2dArgs<T>& args) {
  const ConvPlan& plan = args.plan;
  const int64_t groups = args.sizes.groups, m = args.sizes.o, n = plan.channels * plan.taps();
  const int64_t num_k = args.sizes.n * plan.positions();
  const int64_t grad_size = m * plan.positions();
  const int64_t window = std::min(Blocking::kMaxBlockK, num_k) / plan.positions() + 2;
  const int64_t parts = std::min<int64_t>(GetNumThreads(), groups * m * n * num_k / 100000 + 1);
  Grid grid = groups >= 2 * parts ? Grid{} : CutAmong<T>(m, n, (parts + groups - 1) / groups);
  // A weight smaller than a tile is cut too: the long sum over positions is worth it.
  if (grid.rows * grid.cols * groups < parts) grid.rows = std::min(m, (parts + groups - 1) / groups);
  const int64_t shares = grid.rows * grid.cols;
  const int64_t panels = (n + kTileColsOf<T> - 1) / kTileColsOf<T>;
  ParallelFor(groups * shares, [&](int64_t task) HWY_ATTR {
    const int64_t g = task / shares, row = task % shares / grid.cols, col = task % grid.cols;
    const int64_t i0 = m * row / grid.rows, i1 = m * (row + 1) / grid.rows;
    const int64_t j0 = panels * col / grid.cols * kTileColsOf<T>;
    const int64_t j1 = std::min(n, panels * (col + 1) / grid.cols * kTileColsOf<T>);
    Scratch scratch;
    const TapTable<T> table(plan, j0, j1);
    const PaddedImages<T> images(args, g, window, scratch);
    const GradRows<T> left{args.other + g * grad_size + i0 * plan.positions(), groups * grad_size, plan.positions()};
    TileProduct<T>(i1 - i0, j0, j1, {num_k, ChainLength(args.order, num_k)}, left, TapCols<T>{plan, table, images, n},
                   MatrixSink<T>{args.result + (g * m + i0) * n, n, 1, n, nullptr, nullptr}, {0, num_k});
  });
}

}  // namespace

void Conv2dKernel(const Conv2dArgs<float>& args) { OverAny(args, args.sizes.o); }
void Conv2dKernel(const Conv2dArgs<double>& args) { OverAny(args, args.sizes.o); }
void Conv2dGradInputKernel(const Conv2dArgs<float>& args) { OverAny(args, args.sizes.c); }
void Conv2dGradInputKernel(const Conv2dArgs<double>& args) { OverAny(args, args.sizes.c); }
void Conv2dGradWeightKernel(const Conv2dArgs<float>& args) { OverTaps(args); }
void Conv2dGradWeightKernel(const Conv2dArgs<double>& args) { OverTaps(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
