// SPDX-License-Identifier: MIT
#include <atomic>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>

#include "base/parallel.h"
#include "drivers/tile_cpu-inl.h"
#include "ops/convolution/convolution_kernel.h"
#include "ops/convolution/tap_chunks.h"
#include "ops/mm/mm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Source images, the channels of group `group` each: padded copies of the last few, or where they lie.
template <class T>
class PaddedImages {
 public:
  PaddedImages(const ConvArgs<T>& args, int64_t group, int64_t window, Scratch& scratch)
      : plan_(args.plan),
        source_(args.source + group * plan_.source_size()),
        image_stride_(args.sizes.groups * plan_.source_size()),
        // What is read past its end must lie in the images that follow.
        num_in_place_(plan_.IsPlain() ? args.sizes.n - 1 - kLanesOf<T> / std::max<int64_t>(1, image_stride_) : 0),
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
        plan_.Pad(source_ + n * image_stride_ + c * plan_.source_plane(), image + c * plan_.plane_size);
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

/// Slots of a block of columns.
template <class T>
inline constexpr int64_t kBlockSlots = 4096 / sizeof(T) / kLanesOf<T>;

/// What the panels of PositionCols share: the slots of all images, where term k lies, and how the places that a block
/// of slots reads are copied.
template <class T>
struct PositionTable {
  /// Places of a part, of which a block reads as many as one tap does, and those up to the shift of the last one.
  struct Strip {
    Axes part;
    int64_t first_shift, last_shift;
  };

  ConvPlan::Slots slots;
  int64_t num_slots, part_size;
  std::vector<Strip> strips;
  // Of what is held of a block: some channels, whose strips lie side by side.
  int64_t num_held, channel_stride, strip_stride;
  std::vector<int64_t> channels, offsets;  // of each term
  std::vector<uint32_t> present_at;

  /// The terms are those of all taps of one channel after the other.
  PositionTable(const ConvPlan& plan, int64_t num_images, const std::vector<int64_t>& of_channels)
      : slots(plan.MakeSlots(static_cast<int>(kLanesOf<T>))),
        num_slots(num_images * slots.count),
        part_size(plan.part_size()),
        num_held(std::min(plan.channels, Blocking::kMaxBlockK / std::max<int64_t>(1, plan.num_taps()) + 2)) {
    int64_t span = kLanesOf<T>;
    for (int64_t slot = 0; slot < std::min(slots.count, num_slots - kBlockSlots<T> + 1); ++slot) {
      span = std::max(span, PlaceOf(slot + kBlockSlots<T> - 1) - PlaceOf(slot) + kLanesOf<T>);
    }
    if (num_slots < kBlockSlots<T>) span = PlaceOf(num_slots - 1) - PlaceOf(0) + kLanesOf<T>;
    const std::vector<int64_t> in_strips = MakeStrips(plan, span);
    channel_stride = strip_stride * static_cast<int64_t>(strips.size());
    for (const int64_t channel : of_channels) {
      for (int64_t tap = 0; tap < plan.num_taps(); ++tap) {
        channels.push_back(channel);
        offsets.push_back(channel % num_held * channel_stride + in_strips[tap]);
        present_at.push_back(static_cast<uint32_t>(tap * kMaskBytesOf<T>));
      }
    }
  }

  /// Where a slot begins in a part, those of all images one after the other.
  int64_t PlaceOf(int64_t slot) const { return slot / slots.count * part_size + slots.source[slot % slots.count]; }

 private:
  /// A tap shares the strip of the one before it, in the order of shifts, if there are no more than `span` places
  /// between them. Returns where the taps begin in the strips of a channel.
  std::vector<int64_t> MakeStrips(const ConvPlan& plan, int64_t span) {
    const std::vector<ConvPlan::Tap> taps = plan.Taps();
    std::vector<size_t> order(taps.size()), strip_of(taps.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t i, size_t j) {
      return std::tie(taps[i].part, taps[i].shift) < std::tie(taps[j].part, taps[j].shift);
    });
    int64_t longest = 0;
    for (const size_t i : order) {
      const auto& [part, shift] = taps[i];
      if (strips.empty() || strips.back().part != part || shift - strips.back().last_shift > span) {
        strips.push_back({part, shift, shift});
      }
      strips.back().last_shift = shift;
      strip_of[i] = strips.size() - 1;
      longest = std::max(longest, shift - strips.back().first_shift);
    }
    strip_stride = (span + longest + kLineOf<T> - 1) / kLineOf<T> * kLineOf<T>;
    std::vector<int64_t> places;
    for (size_t i = 0; i < taps.size(); ++i) {
      places.push_back(static_cast<int64_t>(strip_of[i]) * strip_stride + taps[i].shift -
                       strips[strip_of[i]].first_shift);
    }
    return places;
  }
};

/// Right operand with (image, slot) as vectors of columns, and k as terms of channels and taps. What a block reads is
/// copied with zeros around it.
template <class T>
class PositionCols {
 public:
  static constexpr bool kByVector = true, kMayMask = true, kPacks = false;

  /// Of the images of a group.
  PositionCols(const ConvArgs<T>& args, int64_t group, const PositionTable<T>& table, Scratch& scratch)
      : plan_(args.plan),
        table_(table),
        source_(args.source + group * plan_.source_size()),
        image_stride_(args.sizes.groups * plan_.source_size()),
        num_images_(args.sizes.n),
        held_(scratch.Get<T>(table.num_held * table.channel_stride)) {}

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t num_k, T* /*buffer*/, int64_t /*buffer_stride*/,
           PanelOf<T>* panels) const {
    const int64_t slots = table_.slots.count, first = j0 / kLanesOf<T>;
    const int64_t last = std::min(j1 / kLanesOf<T>, table_.num_slots) - 1;
    const int64_t begin = table_.PlaceOf(first), end = table_.PlaceOf(last) + kLanesOf<T>;
    if (num_k > 0) {
      for (int64_t channel = table_.channels[k]; channel <= table_.channels[k + num_k - 1]; ++channel) {
        Hold(channel, begin, end);
      }
    }
    int64_t image = first / slots, slot = first % slots;
    for (int64_t at = first, p = 0; at <= last; ++p) {
      PanelOf<T>& panel = panels[p] = {};
      bool masked = false;
      for (int v = 0; v < kTileVecs; ++v) {
        panel.vectors[v] = held_ + image * table_.part_size + table_.slots.source[slot] - begin;
        if (plan_.masked) {
          panel.present[v] = table_.slots.present.data() + slot * plan_.num_taps() * kMaskBytesOf<T>;
          masked = masked || table_.slots.masked[slot] != 0;
        }
        // A panel behind the end repeats the last slot: nobody reads it.
        if (++at <= last && ++slot == slots) slot = 0, ++image;
      }
      panel.offsets = table_.offsets.data() + k;
      if (masked) panel.present_at = table_.present_at.data() + k;
    }
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}

 private:
  /// Copies what a block reads of a channel whose slots take places [begin, end).
  void Hold(int64_t channel, int64_t begin, int64_t end) const {
    T* to = held_ + channel % table_.num_held * table_.channel_stride;
    for (const auto& [part, first_shift, last_shift] : table_.strips) {
      const int64_t size = table_.part_size, stop = end + last_shift;
      for (int64_t at = begin + first_shift; at < stop;) {
        const int64_t image = at / size, length = std::min(stop, (image + 1) * size) - at;
        T* const run = to + (at - begin - first_shift);
        if (image < num_images_) {
          const T* const plane = source_ + image * image_stride_ + channel * plan_.source_plane();
          plan_.PadPart(plane, part, at - image * size, at - image * size + length, run);
        } else {
          std::fill_n(run, length, T{0});
        }
        at += length;
      }
      to += table_.strip_stride;
    }
  }

  const ConvPlan& plan_;
  const PositionTable<T>& table_;
  const T* source_;
  int64_t image_stride_, num_images_;
  T* held_;
};

/// The first `length` lanes, `step` numbers apart.
template <class T>
HWY_INLINE void StoreSpaced(std::type_identity_t<VecOf<T>> value, T* to, int length, int64_t step) {
  if (step == 1) {
    StoreN(value, to, length);
    return;
  }
  HWY_ALIGN T lanes[kLanesOf<T>];
  StoreU(value, TagOf<T>(), lanes);
  for (int q = 0; q < length; ++q) to[q * step] = lanes[q];
}

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
    const int64_t step = plan.result_step[2];
    for (int v = 0; v < kTileVecs && j / kLanesOf<T> + v < num_slots; ++v) {
      const int64_t at = j / kLanesOf<T> + v, slot = at % slots.count;
      T* const image = result + at / slots.count * image_stride + i * plan.result_size;
      for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
        const auto& [lane, length, position, at_result] = slots.fragments[f];
        T* to = image + at_result;
        const T* from = tile + v * kLanesOf<T> + lane;
        for (int r = 0; r < rows; ++r, from += kTileColsOf<T>, to += plan.result_size) {
          VecOf<T> value = LoadU(d, from);
          if (bias != nullptr) value = Add(value, Set(d, bias[i + r]));
          StoreSpaced(value, to, length, step);
        }
      }
    }
  }
};

/// `m` rows a group of args.other, a number for each term, times the columns that the table has. make_sink(g) makes the
/// sink of a group.
template <class T, class AnyChunks, class MakeSink>
void OverSlots(const ConvArgs<T>& args, int64_t m, const PositionTable<T>& table, const AnyChunks& chunks,
               const MakeSink& make_sink) {
  const auto num_k = static_cast<int64_t>(table.offsets.size());
  const int64_t groups = args.sizes.groups, panels = (table.num_slots + kTileVecs - 1) / kTileVecs;
  // At least 3 µs of work a task.
  const int64_t work = panels * std::max<int64_t>(1, m * num_k * kTileColsOf<T>) / 100000 + 1;
  const int64_t parts = std::min({panels, work, int64_t{4} * GetNumThreads()});
  // Columns that do not lie side by side leave the cache sooner.
  constexpr Blocking blocking{.cols = kBlockSlots<T> * kLanesOf<T>};
  ParallelFor(groups * parts, [&](int64_t task) HWY_ATTR {
    const int64_t g = task / parts, part = task % parts;
    Scratch scratch;
    TileProduct<T>(m, panels * part / parts * kTileColsOf<T>, panels * (part + 1) / parts * kTileColsOf<T>, chunks,
                   MatrixRows<T>{MatrixOf<T>{args.other + g * m * num_k, num_k, 1}},
                   PositionCols<T>(args, g, table, scratch), make_sink(g), {0, num_k}, blocking);
  });
}

/// Forward and the gradient by the input: `m` rows a group of args.other times what the plan reads.
template <class T>
void OverPositions(const ConvArgs<T>& args, int64_t m) {
  const ConvPlan& plan = args.plan;
  std::vector<int64_t> channels(static_cast<size_t>(plan.channels));
  std::iota(channels.begin(), channels.end(), int64_t{0});
  const PositionTable<T> table(plan, args.sizes.n, channels);
  const int64_t all_terms = plan.channels * NumPlaces(args.sizes.kernel);
  const TapChunks chunks(plan, args.sizes.kernel, ChainLength(args.order, all_terms));
  OverSlots(args, m, table, chunks, [&](int64_t g) {
    return PositionSink<T>{plan,
                           table.slots,
                           table.num_slots,
                           args.result + g * m * plan.result_size,
                           args.sizes.groups * m * plan.result_size,
                           args.bias == nullptr ? nullptr : args.bias + g * m};
  });
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

  T* InPlace(int64_t, int64_t) const { return nullptr; }
  int64_t InPlaceStride() const { return 0; }
  const T* InPlaceRowBias(int64_t) const { return nullptr; }
  const T* InPlaceColBias(int64_t) const { return nullptr; }
  void Store(int64_t i, int rows, int64_t j, const T* tile) const {
    const TagOf<T> d;
    VecOf<T> in_doubt = Zero(d);  // anything but +0 where a number is NaN or a zero
    for (int r = 0; r < rows; ++r) {
      const int64_t channel = (i + r) / phases.count();
      const ConvPhases::Row& row = phases.rows[static_cast<size_t>((i + r) % phases.count())];
      T* const plane = result + channel * phases.plan.result_size + row.result;
      const T plus = bias == nullptr ? T{0} : bias[channel];
      for (int v = 0; v < kTileVecs && j / kLanesOf<T> + v < num_slots; ++v) {
        const int64_t at = j / kLanesOf<T> + v, slot = at % slots.count;
        for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
          const auto& [lane, length, position, at_result] = slots.fragments[f];
          if (position[0] < row.low[0] || position[0] >= row.high[0]) continue;
          if (position[1] < row.low[1] || position[1] >= row.high[1]) continue;
          const T* const from = tile + r * kTileColsOf<T> + v * kLanesOf<T> + lane;
          T* const to = plane + at / slots.count * image_stride + at_result;
          const int64_t begin = std::max<int64_t>(0, row.low[2] - position[2]);
          const int64_t end = std::min<int64_t>(length, row.high[2] - position[2]);
          if (begin >= end) continue;
          const VecOf<T> values = LoadN(from + begin, end - begin, T{1});
          const auto known = hn::Or(Lt(values, Zero(d)), Gt(values, Zero(d)));
          in_doubt = Or(in_doubt, IfThenZeroElse(known, Set(d, T{1})));
          for (int64_t q = begin; q < end; ++q) {
            to[q * phases.plan.result_step[2]] = bias == nullptr ? from[q] : from[q] + plus;
          }
        }
      }
    }
    if (Any(d, Ne(in_doubt, Zero(d)))) sure.store(false, std::memory_order_relaxed);
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
  const PositionTable<T> table(conv.plan, conv.sizes.n, phases.channels);
  const int64_t size = conv.sizes.c * phases.plan.result_size;
  std::atomic<bool> sure = true;
  OverSlots(conv, conv.sizes.c * phases.count(), table, PhaseChunks{phases}, [&](int64_t g) {
    return PhaseSink<T>{phases,
                        table.slots,
                        table.num_slots,
                        conv.result + g * size,
                        conv.sizes.groups * size,
                        conv.bias == nullptr ? nullptr : conv.bias + g * conv.sizes.c,
                        sure};
  });
  *args.sure = sure.load();
}

/// Whether each image is a plain product, with so many positions that the weight may be packed anew for each.
template <class T>
bool IsPointwise(const ConvArgs<T>& args) {
  const ConvPlan& plan = args.plan;
  const int64_t positions = plan.num_positions();
  return plan.IsPlain() && NumPlaces(args.sizes.kernel) == 1 && plan.num_taps() == 1 && plan.plane_size == positions &&
         plan.result_size == positions && positions >= 256;
}

/// The same as OverPositions.
template <class T>
void OverImages(const ConvArgs<T>& args, int64_t m) {
  const ConvPlan& plan = args.plan;
  const int64_t groups = args.sizes.groups, num_k = plan.channels, positions = plan.num_positions();
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
      : first_column(first_column), positions(plan.num_positions()), tap_offsets(plan.TapOffsets()) {
    if (!plan.masked) return;
    const int64_t vectors = (end_column - first_column + kTileColsOf<T> - 1) / kTileColsOf<T> * kTileVecs;
    present.reserve(static_cast<size_t>(vectors * positions * kMaskBytesOf<T>));
    for (int64_t first = first_column; first < first_column + vectors * kLanesOf<T>; first += kLanesOf<T>) {
      std::vector<uint64_t> by_axis[kMaxAxes];
      for (int axis = 0; axis < kMaxAxes; ++axis) {
        for (int64_t at = 0; at < plan.positions[axis]; ++at) {
          by_axis[axis].push_back(LanesPresent(plan, axis, at, first, end_column));
        }
      }
      for (const uint64_t in_depth : by_axis[0]) {
        for (const uint64_t in_row : by_axis[1]) {
          for (const uint64_t in_col : by_axis[2]) {
            for (int byte = 0; byte < kMaskBytesOf<T>; ++byte) {
              present.push_back(static_cast<uint8_t>((in_depth & in_row & in_col) >> 8 * byte));
            }
          }
        }
      }
    }
    for (int64_t i = 0; i < positions + Blocking::kMaxBlockK; ++i) {
      present_at.push_back(static_cast<uint32_t>(i % positions * kMaskBytesOf<T>));
    }
  }

  /// Bit i is of column first + i: whether its tap has a place along the axis. Those behind the end count as present.
  static uint64_t LanesPresent(const ConvPlan& plan, int axis, int64_t position, int64_t first, int64_t end_column) {
    const int64_t inner = axis == 2   ? 1
                          : axis == 1 ? plan.kernel[2].count
                                      : plan.kernel[1].count * plan.kernel[2].count;
    uint64_t bits = 0;
    for (int64_t i = 0; i < kLanesOf<T>; ++i) {
      const int64_t place = (first + i) / inner % plan.kernel[axis].count;
      if (first + i >= end_column || plan.IsPresent(axis, place, position)) bits |= uint64_t{1} << i;
    }
    return bits;
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
    const int64_t last = num_cols - 1;
    int64_t offset[kTileColsOf<T>];
    for (int64_t q = 0; q < kTileColsOf<T>; ++q) {
      const int64_t column = std::min(j + q, last);
      offset[q] = column / plan.num_taps() * plan.plane_size + table.tap_offsets[column % plan.num_taps()];
    }
    for (int64_t done = 0; done < num_k;) {
      const int64_t position = (k + done) % plan.num_positions();
      const int64_t cols = plan.positions[2], col = position % cols;
      const int64_t length = std::min(num_k - done, cols - col);
      const int64_t line = plan.OffsetOf(plan.FirstOfLine(position / cols));
      const T* source = images.Image((k + done) / plan.num_positions()) + line + col;
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

/// Whether a group has one channel to read, and all terms are in a chain, present or zeros.
template <class T>
bool IsByChannel(const ConvArgs<T>& args) {
  const int64_t terms = NumPlaces(args.sizes.kernel);
  return args.plan.channels == 1 && !args.plan.masked && args.plan.num_taps() > 1 &&
         ChainLength(args.order, terms) >= terms;
}

/// Rows of weights whose chains run side by side, so that a vector of the plane is read once for all of them.
inline constexpr int kPlaneRows = 4;
/// Slots whose chains do: with a vector of each slot and a weight they fill the registers.
constexpr int SlotsFor(int rows) { return std::min(8, (kTileVecs * (kTileRows + 1) + 1) / (rows + 1)); }

/// Chains of kRows rows of weights at kSlots slots of a plane: out[(row * kSlots + slot) * lanes].
template <class T, int kRows, int kSlots>
HWY_INLINE void RunSlots(const T* plane, const int64_t* slots, const T* weight, const int64_t* offsets,
                         int64_t num_taps, T* out) {
  const TagOf<T> d;
  VecElementOf<T> acc[kRows][kSlots];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int i = 0; i < kSlots; ++i) acc[r][i] = Zero(d);
  }
  const T* from[kSlots];
#pragma GCC unroll 8
  for (int i = 0; i < kSlots; ++i) from[i] = plane + slots[i];
  for (int64_t tap = 0; tap < num_taps; ++tap, ++weight) {
    VecElementOf<T> read[kSlots];
#pragma GCC unroll 8
    for (int i = 0; i < kSlots; ++i) read[i] = LoadU(d, from[i] + offsets[tap]);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const VecOf<T> w = Set(d, weight[r * num_taps]);
#pragma GCC unroll 8
      for (int i = 0; i < kSlots; ++i) acc[r][i] = Fma<VecOf<T>>(w, read[i], acc[r][i]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int i = 0; i < kSlots; ++i) StoreU(acc[r][i], d, out + (r * kSlots + i) * kLanesOf<T>);
  }
}

/// Where the rows of OverPlanes go.
template <class T>
struct PlaneSink {
  const ConvPlan& plan;
  const ConvPlan::Slots& slots;
  const int64_t* wholes;  // where a slot goes as a whole vector, or -1
  T* result;              // of the first row
  const T* bias;          // null, or one number a row

  /// The sums of kRows rows at kCount slots from `slot` on: those of a row lie side by side.
  template <int kRows, int kCount>
  HWY_INLINE void Store(int64_t slot, const T* sums) const {
    const TagOf<T> d;
    for (int i = 0; i < kCount; ++i, sums += kLanesOf<T>) {
      const int64_t whole = wholes[slot + i];
      for (int row = 0; row < kRows; ++row) {
        const T* const from = sums + row * kCount * kLanesOf<T>;
        T* const to = result + row * plan.result_size;
        if (HWY_LIKELY(whole >= 0)) {
          StoreU(WithBias(row, LoadU(d, from)), d, to + whole);
        } else {
          StoreFragments(slot + i, row, from, to);
        }
      }
    }
  }

 private:
  HWY_INLINE VecOf<T> WithBias(int row, std::type_identity_t<VecOf<T>> value) const {
    return bias == nullptr ? value : Add(value, Set(TagOf<T>(), bias[row]));
  }

  void StoreFragments(int64_t slot, int row, const T* from, T* to_row) const {
    const TagOf<T> d;
    const int64_t step = plan.result_step[2];
    for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
      const auto& [lane, length, position, at_result] = slots.fragments[f];
      StoreSpaced<T>(WithBias(row, LoadU(d, from + lane)), to_row + at_result, length, step);
    }
  }
};

/// Where each slot goes as a whole vector, or -1.
template <class T>
std::vector<int64_t> WholeSlots(const ConvPlan& plan, const ConvPlan::Slots& slots) {
  std::vector<int64_t> wholes;
  for (int64_t slot = 0; slot < slots.count; ++slot) {
    const auto& first = slots.fragments[slots.first_fragment[slot]];
    wholes.push_back(plan.result_step[2] == 1 && first.length == kLanesOf<T> ? first.result : -1);
  }
  return wholes;
}

/// kRows rows of weights at all slots.
template <class T, int kRows>
HWY_INLINE void RunRows(const T* plane, const T* weight, const std::vector<int64_t>& offsets,
                        const PlaneSink<T>& sink) {
  constexpr int kSlots = SlotsFor(kRows);
  const ConvPlan::Slots& slots = sink.slots;
  const auto num_taps = static_cast<int64_t>(offsets.size());
  HWY_ALIGN T sums[(kRows * kSlots + 1) * kLanesOf<T>];  // a fragment is read as a whole vector
  int64_t slot = 0;
  for (; slot + kSlots <= slots.count; slot += kSlots) {
    RunSlots<T, kRows, kSlots>(plane, &slots.source[slot], weight, offsets.data(), num_taps, sums);
    sink.template Store<kRows, kSlots>(slot, sums);
  }
  for (; slot < slots.count; ++slot) {
    RunSlots<T, kRows, 1>(plane, &slots.source[slot], weight, offsets.data(), num_taps, sums);
    sink.template Store<kRows, 1>(slot, sums);
  }
}

/// The same as OverPositions, where IsByChannel.
template <class T>
void OverPlanes(const ConvArgs<T>& args, int64_t m) {
  const ConvPlan& plan = args.plan;
  const ConvPlan::Slots slots = plan.MakeSlots(static_cast<int>(kLanesOf<T>));
  const std::vector<int64_t> offsets = plan.TapOffsets(), wholes = WholeSlots<T>(plan, slots);
  const int64_t num_taps = plan.num_taps(), rows = args.sizes.n * args.sizes.groups * m;
  // At least 3 µs of work a task, which pads its first plane; several tasks may share a plane.
  const int64_t work = (plan.plane_size / m + num_taps * plan.num_positions()) * rows / 30000 + 1;
  const int64_t tasks = std::min({rows, work, int64_t{4} * GetNumThreads()});
  ParallelFor(tasks, [&](int64_t task) HWY_ATTR {
    Scratch scratch;
    T* const padded = scratch.Get<T>(plan.plane_size + kLanesOf<T>);
    const int64_t end = rows * (task + 1) / tasks;
    for (int64_t row = rows * task / tasks, held = -1; row < end;) {
      const int64_t plane = row / m, channel = row % (args.sizes.groups * m);
      if (plane != held) plan.Pad(args.source + plane * plan.source_plane(), padded);
      held = plane;
      const T* const weight = args.other + channel * num_taps;
      const PlaneSink<T> sink{plan, slots, wholes.data(), args.result + row * plan.result_size,
                              args.bias == nullptr ? nullptr : args.bias + channel};
      if (row + kPlaneRows <= std::min(end, (plane + 1) * m)) {
        RunRows<T, kPlaneRows>(padded, weight, offsets, sink);
        row += kPlaneRows;
      } else {
        RunRows<T, 1>(padded, weight, offsets, sink);
        ++row;
      }
    }
  });
}

/// `m` is the number of results' channels in a group.
template <class T>
void OverAny(const ConvArgs<T>& args, int64_t m) {
  if (IsByChannel(args)) return OverPlanes(args, m);
  IsPointwise(args) ? OverImages(args, m) : OverPositions(args, m);
}

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
        planes_(scratch.Get<T>(plan_.plane_size * kLanesOf<T>)),
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
      plan_.Pad(args_.source + (plane + lane) * plan_.source_plane(), planes_ + lane * plan_.plane_size);
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

/// The gradient by the weight.
template <class T>
void OverTaps(const ConvArgs<T>& args) {
  const ConvPlan& plan = args.plan;
  if (args.sizes.o == 1 && plan.channels == 1 && !plan.masked && args.sizes.groups >= kLanesOf<T>) {
    return OverChannels(args);
  }
  const int64_t groups = args.sizes.groups, m = args.sizes.o, n = plan.channels * plan.num_taps();
  const int64_t num_k = args.sizes.n * plan.num_positions();
  const int64_t grad_size = m * plan.num_positions();
  const int64_t window = std::min(Blocking::kMaxBlockK, num_k) / plan.num_positions() + 2;
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
    const GradRows<T> left{args.other + g * grad_size + i0 * plan.num_positions(), groups * grad_size,
                           plan.num_positions()};
    TileProduct<T>(i1 - i0, j0, j1, {num_k, ChainLength(args.order, num_k)}, left, TapCols<T>{plan, table, images, n},
                   MatrixSink<T>{args.result + (g * m + i0) * n, n, 1, n, nullptr, nullptr}, {0, num_k});
  });
}

/// Where the columns of patches go: rows are (channel, tap), columns (image, place of the source).
template <class T>
struct PatchSink {
  const int64_t *row_offsets, *col_offsets;
  T* result;
  int64_t taps, num_cols;
  const T* bias;  // null, or one number a channel

  T* InPlace(int64_t, int64_t) const { return nullptr; }
  int64_t InPlaceStride() const { return 0; }
  const T* InPlaceRowBias(int64_t) const { return nullptr; }
  const T* InPlaceColBias(int64_t) const { return nullptr; }
  void Store(int64_t i, int rows, int64_t j, const T* tile) const {
    const int64_t cols = std::min<int64_t>(kTileColsOf<T>, num_cols - j);
    for (int64_t q = 0; q < cols; ++q) {
      T* const to = result + col_offsets[j + q];
      for (int r = 0; r < rows; ++r) {
        const T value = tile[r * kTileColsOf<T> + q];
        to[row_offsets[i + r]] = bias == nullptr ? value : value + bias[(i + r) / taps];
      }
    }
  }
};

/// The gradient by the input where each tap has places of its own: a product of (channel, tap) by output channel, and
/// of output channel by place.
template <class T>
void OverPatches(const ConvArgs<T>& args) {
  const ConvSizes& s = args.sizes;
  const int64_t positions = NumPlaces(s.output), taps = NumPlaces(s.kernel), m = s.c * taps, plane = NumPlaces(s.input);
  const Axes whole = {s.input[1] * s.input[2], s.input[2], 1};
  const auto offset_of = [&](const Axes& sizes, int64_t place, const Axes& step) {
    return place / (sizes[1] * sizes[2]) * step[0] * whole[0] + place / sizes[2] % sizes[1] * step[1] * whole[1] +
           place % sizes[2] * step[2];
  };
  std::vector<int64_t> row_offsets, col_offsets;
  for (int64_t i = 0; i < m; ++i) row_offsets.push_back(i / taps * plane + offset_of(s.kernel, i % taps, {1, 1, 1}));
  // Few places of many images are columns of one product.
  const bool together = positions < 4 * kTileColsOf<T>;
  const int64_t products = together ? 1 : s.n, images = together ? s.n : 1, n = images * positions;
  for (int64_t j = 0; j < n; ++j) {
    col_offsets.push_back(j / positions * s.groups * s.c * plane + offset_of(s.output, j % positions, s.kernel));
  }
  Scratch scratch;
  const T* source = args.source;
  if (together) {
    T* const turned = scratch.Get<T>(s.groups * s.o * n);
    for (int64_t row = 0; row < s.groups * s.o; ++row) {
      for (int64_t image = 0; image < images; ++image) {
        std::copy_n(source + (image * s.groups * s.o + row) * positions, positions,
                    turned + (row * images + image) * positions);
      }
    }
    source = turned;
  }
  const int64_t parts = std::min<int64_t>(4 * GetNumThreads(), m * n * s.o / 100000 + 1);
  const int64_t pairs = products * s.groups;
  const Grid grid = pairs >= parts ? Grid{} : CutAmong<T>(m, n, (parts + pairs - 1) / pairs);
  const int64_t panels = (n + kTileColsOf<T> - 1) / kTileColsOf<T>, shares = grid.rows * grid.cols;
  const int64_t chunk = std::min(ChainLength(args.order, s.o * taps), s.o * taps) / taps;
  ParallelFor(pairs * shares, [&](int64_t task) HWY_ATTR {
    const int64_t pair = task / shares, g = pair % s.groups, row = task % shares / grid.cols, col = task % grid.cols;
    const int64_t i0 = m * row / grid.rows, i1 = m * (row + 1) / grid.rows;
    const MatrixOf<T> weight{args.other + g * s.o * m + i0, 1, m};
    const MatrixOf<T> places{source + pair * s.o * n, n, 1};
    const PatchSink<T> sink{row_offsets.data() + i0,
                            col_offsets.data(),
                            args.result + pair * s.c * plane,
                            taps,
                            n,
                            args.bias == nullptr ? nullptr : args.bias + g * s.c};
    const auto product = [&](const auto& chunks) HWY_ATTR {
      TileProduct<T>(i1 - i0, panels * col / grid.cols * kTileColsOf<T>,
                     std::min(n, panels * (col + 1) / grid.cols * kTileColsOf<T>), chunks, MatrixRows<T>{weight},
                     MatrixCols<T>{places, n, m <= kMaxRowsInPlace}, sink, {0, s.o});
    };
    chunk < s.o && 2 * chunk <= Blocking::kMaxBlockK ? product(ShortChunks(s.o, chunk)) : product(Chunks(s.o, chunk));
  });
}

/// The least exponent of a number that is not 0, counted from 1 as of the subnormals, and whether all are finite.
template <class T>
struct Exponents {
  using Bits = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;
  static constexpr int kMantissa = std::is_same_v<T, float> ? 23 : 52;
  static constexpr Bits kLargest = std::numeric_limits<Bits>::max();

  Bits least = kLargest, most = 0;  // of the magnitudes' bits, those of 0 in the place of the largest, less 1

  void Add(const T* numbers, int64_t count) {
    Bits low = least, high = most;  // not members, which the loop would have to store each time
    for (int64_t i = 0; i < count; ++i) {
      Bits bits;
      std::memcpy(&bits, numbers + i, sizeof(T));
      bits &= kLargest;
      low = std::min<Bits>(low, (bits - 1) & kLargest);
      high = std::max(high, bits);
    }
    least = low, most = high;
  }
  void Add(const Exponents& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
  int64_t Least() const {
    return least == kLargest ? int64_t{1} << 30 : std::max<int64_t>(1, (least + 1) >> kMantissa);
  }
  bool IsFinite() const { return most >> kMantissa < (kLargest >> kMantissa); }
};

template <class T>
Exponents<T> ExponentsOf(const T* numbers, int64_t count) {
  constexpr int64_t kPiece = 1 << 16;
  std::vector<Exponents<T>> found(static_cast<size_t>((count + kPiece - 1) / kPiece));
  ParallelFor(static_cast<int64_t>(found.size()), [&](int64_t piece) HWY_ATTR {
    found[piece].Add(numbers + piece * kPiece, std::min(kPiece, count - piece * kPiece));
  });
  Exponents<T> all;
  for (const auto& one : found) all.Add(one);
  return all;
}

/// A chain, which begins at +0, becomes -0 only where a product that is not 0 is less than the least number: not where
/// each is a whole multiple of that.
template <class T>
void FindRange(const ConvRangeArgs<T>& args) {
  const Exponents<T> a = ExponentsOf(args.a, args.num_a), b = ExponentsOf(args.b, args.num_b);
  constexpr int64_t kEnough = std::is_same_v<T, float> ? 151 : 1076;
  *args.needs_mask = !a.IsFinite() || !b.IsFinite() || a.Least() + b.Least() < kEnough;
}

}  // namespace

void ConvKernel(const ConvArgs<float>& args) { OverAny(args, args.sizes.o); }
void ConvKernel(const ConvArgs<double>& args) { OverAny(args, args.sizes.o); }
void ConvGradInputKernel(const ConvArgs<float>& args) { OverAny(args, args.sizes.c); }
void ConvGradInputKernel(const ConvArgs<double>& args) { OverAny(args, args.sizes.c); }
void ConvPhasesKernel(const ConvPhasesArgs<float>& args) { OverPhases(args); }
void ConvPhasesKernel(const ConvPhasesArgs<double>& args) { OverPhases(args); }
void ConvGradKernelKernel(const ConvArgs<float>& args) { OverTaps(args); }
void ConvGradKernelKernel(const ConvArgs<double>& args) { OverTaps(args); }
void ConvPatchesKernel(const ConvArgs<float>& args) { OverPatches(args); }
void ConvPatchesKernel(const ConvArgs<double>& args) { OverPatches(args); }
void ConvRangeKernel(const ConvRangeArgs<float>& args) { FindRange(args); }
void ConvRangeKernel(const ConvRangeArgs<double>& args) { FindRange(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
