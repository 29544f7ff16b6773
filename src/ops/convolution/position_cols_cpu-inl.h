// SPDX-License-Identifier: MIT
// The right operand of a convolution as a product: positions of the result as columns, channels and taps as terms.
#pragma once

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "ops/convolution/source_images_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Slots of a block of columns.
template <class T>
inline constexpr int64_t kBlockSlots = 4096 / sizeof(T) / kLanesOf<T>;

/// Whether a copy of the source would not pay: no place is read twice, and runs of terms lie side by side.
inline bool SuitsPatches(const ConvPlan& plan) { return plan.kernel[2].count >= 4 && plan.ReadsOnce(); }

/// What the panels of PositionCols share: the slots of all images, where term k lies, and how the places that a block
/// of slots reads are copied.
template <class T>
struct PositionTable {
  /// Places of a part, of which a block reads as many as one tap does, and those up to the shift of the last one.
  struct Strip {
    Axes part;
    int64_t first_shift, last_shift;
  };

  bool in_patches = false;  // as PatchVectors reads them; and then is_dense
  bool is_dense = false;
  ConvPlan::Slots slots;  // of an image, or dense ones of all
  int64_t num_slots, part_size;
  std::vector<Strip> strips;
  // Of what is held of a block: some channels, whose strips lie side by side.
  int64_t num_held, channel_stride, strip_stride;
  std::vector<int64_t> channels, offsets;  // of each term
  std::vector<uint32_t> present_at;

  /// The terms are those of all taps of one channel after the other. Slots are dense if that pays for `rows` rows.
  PositionTable(const ConvPlan& plan, int64_t num_images, const std::vector<int64_t>& of_channels, int64_t rows,
                bool channels_last)
      : slots(plan.MakeSlots(static_cast<int>(kLanesOf<T>), 95)),
        num_slots(num_images * slots.count),
        part_size(plan.part_size()),
        num_held(std::min(plan.channels, Blocking::kMaxBlockK / std::max<int64_t>(1, plan.num_taps()) + 2)) {
    // Whole vectors of channels, of which the first and the last one may reach beyond those of a step.
    if (channels_last) num_held = (num_held + 3 * kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>;
    // To put a vector together takes about as long as so many rows of the product do. Where it is not, terms that lie
    // far apart cost about a seventh more.
    constexpr int64_t kRowsOfPacking = 12, kFarApart = 7;
    const int64_t num_dense = (num_images * plan.num_positions() + kLanesOf<T> - 1) / kLanesOf<T>;
    const int64_t taps = kFarApart * plan.num_taps(), parts = plan.NumPartsOfTaps();
    in_patches = !channels_last && SuitsPatches(plan);
    is_dense =
        in_patches || (!plan.masked && num_dense * (rows + kRowsOfPacking) * taps < num_slots * rows * (taps + parts));
    if (is_dense) {
      slots = plan.MakeDenseSlots(static_cast<int>(kLanesOf<T>), num_images);
      num_slots = slots.count;
    }
    int64_t span = kLanesOf<T>;
    // Blocks of dense slots begin at few of them.
    const int64_t step = is_dense ? kTileVecs : 1;
    for (int64_t slot = 0; slot < std::min(slots.count, num_slots - kBlockSlots<T> + 1); slot += step) {
      span = std::max(span, EndOf(slot + kBlockSlots<T> - 1) - PlaceOf(slot));
    }
    if (num_slots < kBlockSlots<T>) span = EndOf(num_slots - 1) - PlaceOf(0);
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
  /// Behind its last place.
  int64_t EndOf(int64_t slot) const {
    if (!is_dense) return PlaceOf(slot) + kLanesOf<T>;
    const ConvPlan::Slots::Fragment& last = slots.fragments[slots.first_fragment[slot + 1] - 1];
    return last.place + last.length;
  }

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
    // What is copied is written in whole vectors.
    strip_stride = (span + longest + kLanesOf<T> + kLineOf<T> - 1) / kLineOf<T> * kLineOf<T>;
    std::vector<int64_t> places;
    for (size_t i = 0; i < taps.size(); ++i) {
      places.push_back(static_cast<int64_t>(strip_of[i]) * strip_stride + taps[i].shift -
                       strips[strip_of[i]].first_shift);
    }
    return places;
  }
};

/// Copies of what a block of slots reads, with zeros around the images.
template <class T>
class HeldPlaces {
 public:
  /// Of the images of a group.
  HeldPlaces(const ConvArgs<T>& args, const ConvPlan& plan, int64_t group, const PositionTable<T>& table,
             Scratch& scratch)
      : plan_(plan),
        table_(table),
        images_(args, plan, group),
        num_images_(args.sizes.n),
        // A vector may begin before the first place, and end behind the last one.
        held_(scratch.Get<T>(table.num_held * table.channel_stride + 2 * kLanesOf<T>) + kLanesOf<T>) {}

  /// Copies what slots [first, last] read in terms [k, k + num_k). Place i of slot `first` and term q then lies at
  /// result[i + table.offsets[q]].
  const T* Hold(int64_t first, int64_t last, int64_t k, int64_t num_k) const {
    const int64_t begin = table_.PlaceOf(first), end = table_.EndOf(last);
    if (num_k > 0) {
      if (k == 0) next_channel_ = 0;
      for (; next_channel_ <= table_.channels[k + num_k - 1]; next_channel_ += images_.num_at_once()) {
        Copy(next_channel_, std::min(images_.num_at_once(), plan_.channels - next_channel_), begin, end);
      }
    }
    return held_ - begin;
  }

 private:
  /// Copies what a block reads of `count` channels whose slots take places [begin, end).
  void Copy(int64_t channel, int64_t count, int64_t begin, int64_t end) const {
    T* to = held_ + channel % table_.num_held * table_.channel_stride;
    for (const auto& [part, first_shift, last_shift] : table_.strips) {
      const int64_t size = table_.part_size, stop = end + last_shift;
      for (int64_t at = begin + first_shift; at < stop;) {
        const int64_t image = at / size, length = std::min(stop, (image + 1) * size) - at;
        T* const run = to + (at - begin - first_shift);
        if (image >= num_images_) {
          for (int64_t c = 0; c < count; ++c) std::fill_n(run + c * table_.channel_stride, length, T{0});
        } else {
          plan_.ForLines(part, at - image * size, at - image * size + length,
                         [&](int64_t i, int64_t places, int64_t line, int64_t first, int64_t step) HWY_ATTR {
                           images_.CopyLine(image, channel, count, places, line, first, step, run + i,
                                            table_.channel_stride);
                         });
        }
        at += length;
      }
      to += table_.strip_stride;
    }
  }

  const ConvPlan& plan_;
  const PositionTable<T>& table_;
  SourceImages<T> images_;
  int64_t num_images_;
  T* held_;
  mutable int64_t next_channel_ = 0;  // those before are held, as far as there is room
};

/// Right operand with (image, slot) as vectors of columns, and k as terms of channels and taps.
template <class T>
class PositionCols {
 public:
  static constexpr bool kByVector = true, kMayMask = true, kPacks = false;

  PositionCols(const ConvArgs<T>& args, const ConvPlan& plan, int64_t group, const PositionTable<T>& table,
               Scratch& scratch)
      : plan_(plan), table_(table), held_(args, plan, group, table, scratch) {}

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t num_k, T* /*buffer*/, int64_t /*buffer_stride*/,
           PanelOf<T>* panels) const {
    const int64_t slots = table_.slots.count, first = j0 / kLanesOf<T>;
    const int64_t last = std::min(j1 / kLanesOf<T>, table_.num_slots) - 1;
    const T* const places = held_.Hold(first, last, k, num_k);
    int64_t image = first / slots, slot = first % slots;
    for (int64_t at = first, p = 0; at <= last; ++p) {
      PanelOf<T>& panel = panels[p] = {};
      bool masked = false;
      for (int v = 0; v < kTileVecs; ++v) {
        panel.vectors[v] = places + image * table_.part_size + table_.slots.source[slot];
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
  const ConvPlan& plan_;
  const PositionTable<T>& table_;
  HeldPlaces<T> held_;
};

/// The same of dense slots, whose vectors are put together: vectors.Begin(first, last, k, num_k) says of which slots and
/// terms, and vectors.Pack(slot, k, num_k, to) packs one.
template <class T, class Vectors>
class DenseCols {
 public:
  static constexpr bool kByVector = false, kMayMask = false, kPacks = true;

  DenseCols(int64_t num_slots, Vectors& vectors) : num_slots_(num_slots), vectors_(vectors) {}

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t num_k, T* buffer, int64_t buffer_stride,
           PanelOf<T>* panels) const {
    const int64_t first = j0 / kLanesOf<T>, last = std::min(j1 / kLanesOf<T>, num_slots_) - 1;
    vectors_.Begin(first, last, k, num_k);
    for (int64_t at = first, p = 0; at <= last; at += kTileVecs, ++p) {
      T* const panel = buffer + p * buffer_stride;
      for (int v = 0; v < kTileVecs; ++v) {
        vectors_.Pack(std::min(at + v, last), k, num_k, panel + v * kLanesOf<T>);
      }
      panels[p] = {.b = panel, .stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
    }
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}

 private:
  int64_t num_slots_;
  Vectors& vectors_;
};

/// Vectors of dense slots from the places that are held: of their fragments.
template <class T>
class HeldVectors {
 public:
  HeldVectors(const ConvArgs<T>& args, const ConvPlan& plan, int64_t group, const PositionTable<T>& table,
              Scratch& scratch)
      : table_(table), held_(args, plan, group, table, scratch) {}

  void Begin(int64_t first, int64_t last, int64_t k, int64_t num_k) { places_ = held_.Hold(first, last, k, num_k); }
  void Pack(int64_t slot, int64_t k, int64_t num_k, T* to) const {
    const TagOf<T> d;
    const ConvPlan::Slots::Fragment* const fragments = table_.slots.fragments.data();
    const T* from[kLanesOf<T>];
    MaskElementOf<T> before[kLanesOf<T>];
    int count = 0;
    for (size_t f = table_.slots.first_fragment[slot]; f < table_.slots.first_fragment[slot + 1]; ++f, ++count) {
      from[count] = places_ + fragments[f].place - fragments[f].lane;
      before[count] = hn::FirstN(d, static_cast<size_t>(fragments[f].lane));
    }
    const auto pack = [&](const auto& values) HWY_ATTR {
      for (int64_t q = 0; q < num_k; ++q) StoreU(values(table_.offsets[k + q]), d, to + q * kTileColsOf<T>);
    };
    // Lines of positions are seldom so short that more than two meet in a vector.
    if (count == 1) return pack([&](int64_t offset) HWY_ATTR { return LoadU(d, from[0] + offset); });
    if constexpr (kLanesOf<T> > 1) {
      const MaskOf<T> first = before[1];
      if (count == 2) {
        return pack([&](int64_t offset)
                        HWY_ATTR { return IfThenElse(first, LoadU(d, from[0] + offset), LoadU(d, from[1] + offset)); });
      }
      pack([&](int64_t offset) HWY_ATTR {
        VecOf<T> values = IfThenElse(first, LoadU(d, from[0] + offset), LoadU(d, from[1] + offset));
        for (int f = 2; f < count; ++f) values = IfThenElse(before[f], values, LoadU(d, from[f] + offset));
        return values;
      });
    }
  }

 private:
  const PositionTable<T>& table_;
  HeldPlaces<T> held_;
  const T* places_ = nullptr;
};

/// The same from the source, where it SuitsPatches.
template <class T>
class PatchVectors {
 public:
  PatchVectors(const ConvArgs<T>& args, const ConvPlan& plan, int64_t group, const ConvPlan::Slots& slots)
      : plan_(plan),
        slots_(slots),
        image_stride_(args.sizes.groups * plan.source_size()),
        source_(args.source + group * plan.source_size() +
                PlaceOf({plan.FirstPlace(0), plan.FirstPlace(1), plan.FirstPlace(2)})) {}

  void Begin(int64_t, int64_t, int64_t, int64_t) const {}
  void Pack(int64_t slot, int64_t k, int64_t num_k, T* to) const {
    const T* from[kLanesOf<T>];  // where each lane's patch begins
    int64_t lane = 0;
    for (size_t f = slots_.first_fragment[slot]; f < slots_.first_fragment[slot + 1]; ++f) {
      const ConvPlan::Slots::Fragment& fragment = slots_.fragments[f];
      Axes at;
      for (int axis = 0; axis < kMaxAxes; ++axis) at[axis] = fragment.position[axis] * plan_.PositionStep(axis);
      for (int i = 0; i < fragment.length; ++i, at[2] += plan_.PositionStep(2)) {
        from[lane++] = source_ + fragment.image * image_stride_ + PlaceOf(at);
      }
    }
    for (; lane < kLanesOf<T>; ++lane) from[lane] = from[0];  // nobody reads it
    const auto& kernel = plan_.kernel;
    for (int64_t done = 0, run; done < num_k; done += run) {
      const int64_t channel = (k + done) / plan_.num_taps(), tap = (k + done) % plan_.num_taps();
      const int64_t line = tap / kernel[2].count, col = tap % kernel[2].count;
      run = std::min(num_k - done, kernel[2].count - col);
      const int64_t offset =
          channel * plan_.source_plane() + PlaceOf({line / kernel[1].count, line % kernel[1].count, col});
      PackRun([&](int64_t i) HWY_ATTR { return from[i] + offset; }, run, to + done * kTileColsOf<T>);
    }
  }

 private:
  int64_t PlaceOf(const Axes& at) const { return (at[0] * plan_.source[1] + at[1]) * plan_.source[2] + at[2]; }

  template <class Lane>
  static void PackRun(const Lane& lane, int64_t run, T* to) {
#if HWY_TARGET == HWY_SCALAR
    for (int64_t q = 0; q < run; ++q) to[q * kTileColsOf<T>] = lane(0)[q];
#else
    PackTransposed(lane, kLanesOf<T>, run, to, kTileColsOf<T>);
#endif
  }

  const ConvPlan& plan_;
  const ConvPlan::Slots& slots_;
  int64_t image_stride_;
  const T* source_;
};

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
