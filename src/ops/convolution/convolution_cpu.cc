// SPDX-License-Identifier: MIT
#include <atomic>
#include <limits>
#include <numeric>
#include <tuple>
#include <type_traits>

#include "base/parallel.h"
#include "ops/convolution/convolution_kernel.h"
#include "ops/convolution/tap_chunks.h"
#include "ops/mm/mm_kernel.h"
#include "ops/mm/mm_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// to[i] = line[first + i * step], or 0 outside of the line. It writes whole vectors, and asks for the numbers `ahead` of
/// those that it reads.
template <class T>
HWY_INLINE void CopyLine(const T* line, int64_t size, int64_t first, int64_t step, int64_t count, int64_t ahead,
                         T* to) {
  const TagOf<T> d;
  const auto [begin, end] = PlacesInLine(size, first, step, count);
  for (int64_t i = 0; i < begin; i += kLanesOf<T>) StoreU(Zero(d), d, to + i);
  const T* const from = line + first;
  int64_t i = begin;
  if (step == 1) {
    for (; i < end; i += kLanesOf<T>) {
      __builtin_prefetch(from + i + ahead);
      StoreU(LoadN(from + i, end - i), d, to + i);
    }
  } else {
#if HWY_TARGET != HWY_SCALAR
    for (; step == 2 && i < end; i += kLanesOf<T>) {
      __builtin_prefetch(from + 2 * i + ahead);
      __builtin_prefetch(from + 2 * i + kLanesOf<T> + ahead);
      const int64_t left = 2 * (end - i) - 1;  // the number behind the last place may not be there
      const VecOf<T> low = LoadN(from + 2 * i, left);
      const VecOf<T> high = LoadN(from + 2 * i + kLanesOf<T>, std::max<int64_t>(0, left - kLanesOf<T>));
      StoreU(hn::ConcatEven(d, high, low), d, to + i);
    }
#endif
    for (; i < end; ++i) to[i] = from[i * step];
  }
  for (; i < count; i += kLanesOf<T>) StoreU(Zero(d), d, to + i);
}

/// Copies a source plane, row-major, into a padded one, behind which a vector may be written.
template <class T>
void PadPlane(const ConvPlan& plan, const T* plane, T* padded) {
  plan.ForLines([&](int64_t at, int64_t count, int64_t line, int64_t first, int64_t step) HWY_ATTR {
    CopyLine(plane + std::max<int64_t>(0, line) * plan.source[2], line < 0 ? 0 : plan.source[2], first, step, count,
             plan.source_plane(), padded + at);
  });
}

template <class T>
HWY_ALIGN inline constexpr T kZeros[kLanesOf<T>] = {};

/// Reads the source images of a group: the places of a channel lie side by side, or the channels of a place.
template <class T>
class SourceImages {
 public:
  SourceImages(const ConvArgs<T>& args, const ConvPlan& plan, int64_t group)
      : plan_(plan),
        last_(args.source_last),
        channel_step_(last_ ? 1 : plan.source_plane()),
        place_step_(last_ ? args.sizes.groups * plan.channels : 1),
        image_stride_(args.sizes.groups * plan.source_size()),
        source_(args.source + group * plan.channels * channel_step_) {}

  /// Channels that are best copied at a time, at most.
  int64_t num_at_once() const { return last_ ? kLanesOf<T> : 1; }

  /// Copies `count` channels of a line, as ConvPlan::ForLines says, to places that lie `stride` apart. It may write whole
  /// vectors.
  HWY_INLINE void CopyLine(int64_t image, int64_t channel, int64_t count, int64_t places, int64_t line, int64_t first,
                           int64_t step, T* to, int64_t stride) const {
    const T* const from = source_ + image * image_stride_ + channel * channel_step_ +
                          std::max<int64_t>(0, line) * plan_.source[2] * place_step_;
    const int64_t size = line < 0 ? 0 : plan_.source[2];
    if (last_) {
      TurnLine(from, size, first, step, places, count, to, stride);
    } else {
      repdl::HWY_NAMESPACE::CopyLine(from, size, first, step, places, channel_step_, to);
    }
  }

 private:
  void TurnLine(const T* line, int64_t size, int64_t first, int64_t step, int64_t count, int64_t channels, T* to,
                int64_t stride) const {
    for (int64_t i = 0; i < count; i += kLanesOf<T>) {
      const T* places[kLanesOf<T>];
      for (int64_t q = 0; q < kLanesOf<T>; ++q) {
        const int64_t place = first + (i + q) * step;
        places[q] = place >= 0 && place < size ? line + place * place_step_ : kZeros<T>;
        __builtin_prefetch(line + (place + kLanesOf<T> * step) * place_step_);
      }
#if HWY_TARGET == HWY_SCALAR
      for (int64_t c = 0; c < channels; ++c) to[c * stride + i] = places[0][c];
#else
      PackTransposed([&](int64_t q) HWY_ATTR { return places[q]; }, kLanesOf<T>, channels, to + i, stride);
#endif
    }
  }

  const ConvPlan& plan_;
  bool last_;
  int64_t channel_step_, place_step_, image_stride_;
  const T* source_;
};

/// Source images, channels [first_channel, end_channel) of group `group` each: padded copies of the last few, or where they
/// lie.
template <class T>
class PaddedImages {
 public:
  PaddedImages(const ConvArgs<T>& args, int64_t group, int64_t first_channel, int64_t end_channel, int64_t window,
               Scratch& scratch)
      : plan_(args.plan),
        images_(args, args.plan, group),
        source_(args.source + group * plan_.source_size()),
        image_stride_(args.sizes.groups * plan_.source_size()),
        // What is read past its end must lie in the images that follow.
        num_in_place_(plan_.IsPlain() && !args.source_last
                          ? args.sizes.n - 1 - kLanesOf<T> / std::max<int64_t>(1, image_stride_)
                          : 0),
        first_channel_(first_channel),
        end_channel_(end_channel),
        // With room for what is written in whole vectors.
        plane_stride_(num_in_place_ > 0 ? plan_.plane_size : plan_.plane_size + kLanesOf<T>),
        window_(window),
        held_(scratch.Get<int64_t>(window)),
        data_(scratch.Get<T>(window * ImageSize() + kLanesOf<T>)) {
    std::fill(held_, held_ + window, int64_t{-1});
  }

  int64_t plane_stride() const { return plane_stride_; }
  /// The first channel of image `n`; pointers to the `window` images last asked for stay good.
  const T* Image(int64_t n) const {
    if (n < num_in_place_) return source_ + n * image_stride_ + first_channel_ * plane_stride_;
    T* const image = data_ + n % window_ * ImageSize();
    if (held_[n % window_] != n) {
      int64_t count;
      for (int64_t c = first_channel_; c < end_channel_; c += count) {
        count = std::min(images_.num_at_once(), end_channel_ - c);
        T* const planes = image + (c - first_channel_) * plane_stride_;
        plan_.ForLines([&](int64_t at, int64_t places, int64_t line, int64_t first, int64_t step) HWY_ATTR {
          images_.CopyLine(n, c, count, places, line, first, step, planes + at, plane_stride_);
        });
      }
      held_[n % window_] = n;
    }
    return image;
  }

 private:
  int64_t ImageSize() const { return (end_channel_ - first_channel_) * plane_stride_; }

  const ConvPlan& plan_;
  SourceImages<T> images_;
  const T* source_;
  int64_t image_stride_;
  int64_t num_in_place_;
  int64_t first_channel_, end_channel_;
  int64_t plane_stride_;
  int64_t window_;
  int64_t* held_;
  T* data_;
};

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

/// Finds numbers that may come of a zero in the place of an absent term: NaN and zeros.
template <class T>
class Doubts {
 public:
  Doubts() : largest_(Zero(TagOf<T>())) {}
  HWY_INLINE void Look(std::type_identity_t<VecOf<T>> values) {
    const Unsigned d;
    // Without its sign, less 1: 0 becomes the largest number, and NaN stays larger than all others.
    const auto bits = hn::Sub(hn::And(hn::BitCast(d, values), hn::Set(d, kMost)), hn::Set(d, 1));
    largest_ = hn::BitCast(TagOf<T>(), hn::Max(hn::BitCast(d, VecOf<T>(largest_)), bits));
  }
  bool Found() const {
    const Unsigned d;
    return !hn::AllTrue(d, hn::Lt(hn::BitCast(d, VecOf<T>(largest_)), hn::Set(d, kInfinity)));
  }

 private:
  using Unsigned = hn::RebindToUnsigned<TagOf<T>>;
  using Bits = hn::TFromD<Unsigned>;
  static constexpr Bits kMost = static_cast<Bits>(-1) >> 1;
  static constexpr Bits kInfinity = kMost & ~(kMost >> (sizeof(T) == 4 ? 8 : 11));

  VecElementOf<T> largest_;  // of the bits, as numbers
};

/// Where the columns of PositionCols go.
template <class T>
struct PositionSink {
  const ConvPlan& plan;
  const ConvPlan::Slots& slots;
  int64_t num_slots;
  T* result;  // of the first image of the group
  int64_t image_stride, row_step, place_step;
  const T* bias;  // null, or one number a row
  int64_t num_rows;
  std::atomic<bool>* sure;  // null, or becomes false where a number is NaN or a zero

  T* InPlace(int64_t, int64_t) const { return nullptr; }
  int64_t InPlaceStride() const { return 0; }
  const T* InPlaceRowBias(int64_t) const { return nullptr; }
  const T* InPlaceColBias(int64_t) const { return nullptr; }
  /// Asks for what Store will write.
  void Prefetch(int64_t i, int rows, int64_t j) const {
    const bool turned = row_step == 1;
    const int64_t step = turned ? plan.result_step[2] * place_step : row_step;
    ForSlots(i, j, [&](int, int64_t slot, const T* image) {
      for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
        const ConvPlan::Slots::Fragment& fragment = slots.fragments[f];
        const T* to = image + fragment.image * image_stride + fragment.result * place_step;
        for (int q = 0; q < (turned ? fragment.length : rows); ++q, to += step) __builtin_prefetch(to, 1);
      }
    });
  }
  void Store(int64_t i, int rows, int64_t j, const T* tile) const {
    Doubts<T> doubts;
    ForSlots(i, j, [&](int v, int64_t slot, T* image) HWY_ATTR {
      const T* const from = tile + v * kLanesOf<T>;
#if HWY_TARGET != HWY_SCALAR
      if (row_step == 1) return StoreTurned(i, rows, slot, from, image, doubts);
#endif
      StoreRows(i, rows, slot, from, image, doubts);
    });
    if (sure != nullptr && doubts.Found()) sure->store(false, std::memory_order_relaxed);
  }

 private:
  /// visit(v, slot, image) for the vectors of a tile; `image` is that of row i.
  template <class Visit>
  HWY_INLINE void ForSlots(int64_t i, int64_t j, const Visit& visit) const {
    const int64_t first = j / kLanesOf<T>;
    T* image = result + first / slots.count * image_stride + i * row_step;
    for (int64_t v = 0, slot = first % slots.count; v < std::min<int64_t>(kTileVecs, num_slots - first); ++v) {
      visit(static_cast<int>(v), slot, image);
      if (++slot == slots.count) slot = 0, image += image_stride;
    }
  }

  void StoreRows(int64_t i, int rows, int64_t slot, const T* tile, T* image, Doubts<T>& doubts) const {
    const TagOf<T> d;
    // Not in memory, which would be read again after each vector that is written.
    Doubts<T> seen = doubts;
    const T* const plus = bias == nullptr ? nullptr : bias + i;
    const int64_t step = plan.result_step[2] * place_step, row = row_step;
    for (size_t f = slots.first_fragment[slot], end = slots.first_fragment[slot + 1]; f < end; ++f) {
      const ConvPlan::Slots::Fragment& fragment = slots.fragments[f];
      const int length = fragment.length;
      T* to = image + fragment.image * image_stride + fragment.result * place_step;
      const T* from = tile + fragment.lane;
      for (int r = 0; r < rows; ++r, from += kTileColsOf<T>, to += row) {
        seen.Look(LoadN(from, length, T{1}));
        VecOf<T> value = LoadU(d, from);
        if (plus != nullptr) value = Add(value, Set(d, plus[r]));
        StoreSpaced(value, to, length, step);
      }
    }
    doubts = seen;
  }

#if HWY_TARGET != HWY_SCALAR
  /// Where the rows of a place lie side by side.
  void StoreTurned(int64_t i, int rows, int64_t slot, const T* tile, T* image, Doubts<T>& doubts) const {
    const TagOf<T> d;
    Doubts<T> seen = doubts;
    for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
      const T* from = tile + slots.fragments[f].lane;
      for (int r = 0; r < rows; ++r, from += kTileColsOf<T>) {
        seen.Look(LoadN(from, slots.fragments[f].length, T{1}));
      }
    }
    doubts = seen;
    for (int first = 0; first < rows; first += kLanesOf<T>) {
      const int64_t count = std::min<int64_t>(kLanesOf<T>, rows - first);
      VecElementOf<T> t[kLanesOf<T>];
#pragma GCC unroll 16
      for (int64_t r = 0; r < kLanesOf<T>; ++r) {
        t[r] = LoadU(d, tile + std::min<int64_t>(first + r, rows - 1) * kTileColsOf<T>);
      }
      TransposeSquare<T>(t);
      HWY_ALIGN T turned[kLanesOf<T>][kLanesOf<T>];
      const VecOf<T> plus = bias == nullptr ? Zero(d) : LoadN(bias + i + first, count);
#pragma GCC unroll 16
      for (int64_t q = 0; q < kLanesOf<T>; ++q) {
        const VecOf<T> value = t[q];
        StoreU(bias == nullptr ? value : Add(value, plus), d, turned[q]);
      }
      // What a vector has too much, the next rows overwrite.
      const int64_t written = i + first + kLanesOf<T> <= num_rows ? kLanesOf<T> : count;
      for (size_t f = slots.first_fragment[slot]; f < slots.first_fragment[slot + 1]; ++f) {
        const auto& [lane, length, position, at_result, dense_image, place] = slots.fragments[f];
        T* to = image + dense_image * image_stride + at_result * place_step + first;
        for (int q = 0; q < length; ++q, to += plan.result_step[2] * place_step) {
          StoreN(Load(d, turned[lane + q]), to, written);
        }
      }
    }
  }
#endif
};

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
inline int64_t PartsOf(int64_t jobs) {
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
  const int64_t groups = args.sizes.groups, wanted = PartsOf(groups * static_cast<int64_t>(products.size()));
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
    const auto& [product, g, begin, end] = shares[static_cast<size_t>(task)];
    Scratch scratch;
    const auto times = [&](const auto& cols) HWY_ATTR {
      TileProduct<T>(m, begin * kTileColsOf<T>, end * kTileColsOf<T>, product->chunks,
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

  T* InPlace(int64_t, int64_t) const { return nullptr; }
  int64_t InPlaceStride() const { return 0; }
  const T* InPlaceRowBias(int64_t) const { return nullptr; }
  const T* InPlaceColBias(int64_t) const { return nullptr; }
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
  const int64_t parts = std::min({panels, work, PartsOf(images)});
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

/// The gradient of the output in its gradient by the weight: a matrix of output channels by positions for each image.
template <class T>
struct GradImages {
  const T* first;  // image of the group
  int64_t image_stride, channel_step, place_step;
  int64_t positions;

  /// visit(image, position, length, done) for the runs of terms [k, k + num_k) that are of one image.
  template <class Visit>
  void ForRuns(int64_t k, int64_t num_k, const Visit& visit) const {
    for (int64_t done = 0; done < num_k;) {
      const int64_t position = (k + done) % positions, length = std::min(num_k - done, positions - position);
      visit(MatrixOf<T>{first + (k + done) / positions * image_stride, channel_step, place_step}, position, length,
            done);
      done += length;
    }
  }
};

/// Its output channels as rows.
template <class T>
struct GradRows {
  GradImages<T> images;

  const T* Get(int64_t i, int rows, int64_t k, int64_t num_k, T* buffer) const {
    images.ForRuns(k, num_k, [&](const MatrixOf<T>& image, int64_t position, int64_t length, int64_t done) HWY_ATTR {
      PackRows(image, i, rows, position, length, buffer + done * rows);
    });
    return buffer;
  }
  void Prefetch(int64_t, int, int64_t, int64_t, int64_t, int64_t) const {}
};

/// As columns.
template <class T>
struct GradCols {
  GradImages<T> images;
  int64_t num_cols;

  static constexpr bool kByVector = false, kMayMask = false, kPacks = true;

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t num_k, T* buffer, int64_t buffer_stride,
           PanelOf<T>* panels) const {
    for (int64_t j = j0; j < j1; j += kTileColsOf<T>, buffer += buffer_stride, ++panels) {
      const int cols = static_cast<int>(std::min<int64_t>(kTileColsOf<T>, num_cols - j));
      images.ForRuns(k, num_k, [&](const MatrixOf<T>& image, int64_t position, int64_t length, int64_t done) HWY_ATTR {
        PackCols(image.Transposed(), j, cols, position, length, buffer + done * kTileColsOf<T>);
      });
      *panels = {.b = buffer, .stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
    }
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}
};

/// What the panels of a range of TapCols share: where the taps lie, and which terms are present, as bits of the columns
/// at each position.
template <class T>
struct TapTable {
  int64_t first_column, positions;
  int64_t first_channel, end_channel;
  std::vector<int64_t> tap_offsets;
  std::vector<uint8_t> present;      // (panel, vector, position), kMaskBytesOf<T> each; empty if none is absent
  std::vector<uint32_t> present_at;  // by position, over and over for a block

  TapTable(const ConvPlan& plan, int64_t first_column, int64_t end_column)
      : first_column(first_column),
        positions(plan.num_positions()),
        first_channel(first_column / plan.num_taps()),
        end_channel((end_column - 1) / plan.num_taps() + 1),
        tap_offsets(plan.TapOffsets()) {
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

/// Reads what (channel, tap), a column of the weight, takes of (image, position), a term of its gradient.
template <class T>
class TapReader {
 public:
  const ConvPlan& plan;
  const TapTable<T>& table;
  const PaddedImages<T>& images;
  int64_t num_columns;

  /// to[q * to_stride + i] = what column first + i takes of term k + q, for i < count, which is at most kMost. What a
  /// vector has too much, the next term overwrites.
  void Pack(int64_t first, int64_t count, int64_t k, int64_t num_k, T* to, int64_t to_stride) const {
    // The last columns overlap those before. Columns behind the last one repeat it: nobody reads their sums.
    int64_t begins[kMost], offsets[kMost];
    for (int64_t i = 0; i < count; i += kLanesOf<T>) {
      begins[i] = std::max<int64_t>(0, std::min(i, count - kLanesOf<T>));
      for (int64_t q = 0; q < kLanesOf<T>; ++q) {
        const int64_t column = std::min(first + begins[i] + q, num_columns - 1);
        offsets[i + q] = (column / plan.num_taps() - table.first_channel) * images.plane_stride() +
                         table.tap_offsets[column % plan.num_taps()];
      }
    }
    for (int64_t done = 0; done < num_k;) {
      const int64_t position = (k + done) % plan.num_positions();
      const int64_t cols = plan.positions[2], col = position % cols;
      const int64_t length = std::min(num_k - done, cols - col);
      const int64_t line = plan.OffsetOf(plan.FirstOfLine(position / cols));
      const T* source = images.Image((k + done) / plan.num_positions()) + line + col;
      for (int64_t i = 0; i < count; i += kLanesOf<T>) {
        PackRun(source, offsets + i, length, to + done * to_stride + begins[i], to_stride);
      }
      done += length;
    }
  }

 private:
  /// In whole vectors: the columns of a panel, or the rows of a tile.
  static constexpr int64_t kMost = std::max<int64_t>(kTileColsOf<T>, kTileRows + kLanesOf<T>);

  /// to[q * to_stride + i] = source[q + offsets[i]], for a vector of i.
  static void PackRun(const T* source, const int64_t* offsets, int64_t length, T* to, int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
    for (int64_t q = 0; q < length; ++q) to[q * to_stride] = source[q + offsets[0]];
#else
    PackTransposed([&](int64_t i) HWY_ATTR { return source + offsets[i]; }, kLanesOf<T>, length, to, to_stride);
#endif
  }
};

/// Right operand of the gradient by the weight: (channel, tap) as columns and (image, position) as k.
template <class T>
class TapCols {
 public:
  const TapReader<T>& reader;

  static constexpr bool kByVector = false, kMayMask = true, kPacks = true;

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t num_k, T* buffer, int64_t buffer_stride,
           PanelOf<T>* panels) const {
    for (int64_t j = j0; j < j1; j += kTileColsOf<T>, buffer += buffer_stride, ++panels) {
      reader.Pack(j, kTileColsOf<T>, k, num_k, buffer, kTileColsOf<T>);
      *panels = {.b = buffer, .stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
      if (reader.plan.masked) Mask(j, k, *panels);
    }
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}

 private:
  void Mask(int64_t j, int64_t k, PanelOf<T>& panel) const {
    const TapTable<T>& table = reader.table;
    for (int v = 0; v < kTileVecs; ++v) {
      panel.present[v] =
          table.present.data() + ((j - table.first_column) / kLanesOf<T> + v) * table.positions * kMaskBytesOf<T>;
    }
    panel.present_at = table.present_at.data() + k % table.positions;
  }
};

/// The same as a left operand, if no term is absent: rows from `first` on.
template <class T>
struct TapRows {
  const TapReader<T>& reader;
  int64_t first;

  const T* Get(int64_t i, int rows, int64_t k, int64_t num_k, T* buffer) const {
    reader.Pack(first + i, rows, k, num_k, buffer, rows);
    return buffer;
  }
  void Prefetch(int64_t, int, int64_t, int64_t, int64_t, int64_t) const {}
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

/// Whether what a vector has too much may be written: positions that follow, which come later, overwrite it.
template <class T>
bool MayOverrun(const ConvPlan& plan, int64_t at_result) {
  return plan.num_positions() == plan.result_size && at_result + kLanesOf<T> <= plan.result_size;
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
      const auto& [lane, length, position, at_result, dense_image, place] = slots.fragments[f];
      const VecOf<T> value = WithBias(row, LoadU(d, from + lane));
      if (MayOverrun<T>(plan, at_result)) {
        StoreU(value, d, to_row + at_result);
      } else {
        StoreSpaced<T>(value, to_row + at_result, length, step);
      }
    }
  }
};

/// Where each slot goes as a whole vector, or -1.
template <class T>
std::vector<int64_t> WholeSlots(const ConvPlan& plan, const ConvPlan::Slots& slots) {
  std::vector<int64_t> wholes;
  for (int64_t slot = 0; slot < slots.count; ++slot) {
    const auto& first = slots.fragments[slots.first_fragment[slot]];
    const bool is_alone = slots.first_fragment[slot + 1] == slots.first_fragment[slot] + 1;
    const bool is_whole = plan.result_step[2] == 1 && first.length == kLanesOf<T>;
    wholes.push_back(is_whole || (is_alone && MayOverrun<T>(plan, first.result)) ? first.result : -1);
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
  // To store a slot of several fragments takes as long as some taps do.
  const ConvPlan::Slots slots = plan.MakeSlots(static_cast<int>(kLanesOf<T>), 80);
  const std::vector<int64_t> offsets = plan.TapOffsets(), wholes = WholeSlots<T>(plan, slots);
  const int64_t num_taps = plan.num_taps(), rows = args.sizes.n * args.sizes.groups * m;
  // At least 3 µs of work a task, which pads its first plane; several tasks may share a plane.
  const int64_t work = (plan.plane_size / m + num_taps * plan.num_positions()) * rows / Grain(30000) + 1;
  const int64_t tasks = std::min({rows, work, int64_t{4} * GetNumThreads()});
  ParallelFor(tasks, [&](int64_t task) HWY_ATTR {
    Scratch scratch;
    T* const padded = scratch.Get<T>(plan.plane_size + kLanesOf<T>);
    const int64_t end = rows * (task + 1) / tasks;
    for (int64_t row = rows * task / tasks, held = -1; row < end;) {
      const int64_t plane = row / m, channel = row % (args.sizes.groups * m);
      if (plane != held) PadPlane(plan, args.source + plane * plan.source_plane(), padded);
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

/// Whether a number is NaN or a zero.
template <class T>
bool HasDoubt(const T* numbers, int64_t count) {
  std::atomic<bool> found = false;
  ParallelRanges(count, 1 << 14, [&](int64_t begin, int64_t end) HWY_ATTR {
    Doubts<T> doubts;
    ForVectors<T>(end - begin,
                  [&](int64_t i, int64_t n) HWY_ATTR { doubts.Look(LoadN(numbers + begin + i, n, T{1})); });
    if (doubts.Found()) found.store(true, std::memory_order_relaxed);
  });
  return found.load();
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

/// Where the columns of patches go: rows are (channel, tap), columns (image, place of the source).
template <class T>
struct PatchSink {
  const int64_t *row_offsets, *col_offsets;
  T* result;
  int64_t taps, num_cols;
  const T* bias;      // null, or one number a channel
  int64_t first_row;  // of the product, of a share of it

  T* InPlace(int64_t, int64_t) const { return nullptr; }
  int64_t InPlaceStride() const { return 0; }
  const T* InPlaceRowBias(int64_t) const { return nullptr; }
  const T* InPlaceColBias(int64_t) const { return nullptr; }
  void Store(int64_t i, int rows, int64_t j, const T* tile) const {
    const int64_t cols = std::min<int64_t>(kTileColsOf<T>, num_cols - j);
    for (int r = 0, run; r < rows; r += run) {
      const int64_t* const offsets = row_offsets + i + r;
      for (run = 1; r + run < rows && run < kLanesOf<T> && offsets[run] == offsets[0] + run;) ++run;
      for (int64_t q = 0; q < cols; q += kLanesOf<T>) {
        StoreRun(i + r, run, col_offsets + j + q, std::min(kLanesOf<T>, cols - q), tile + r * kTileColsOf<T> + q);
      }
    }
  }

 private:
  /// `run` rows that lie side by side in each column, of up to a vector of columns.
  void StoreRun(int64_t i, int run, const int64_t* offsets, int64_t cols, const T* tile) const {
    const TagOf<T> d;
    T* const to = result + row_offsets[i];
    const auto row = [&](int64_t r) HWY_ATTR {
      const VecOf<T> values = LoadU(d, tile + r * kTileColsOf<T>);
      return bias == nullptr ? values : Add(values, Set(d, bias[(first_row + i + r) / taps]));
    };
#if HWY_TARGET != HWY_SCALAR
    if (run == 2 && cols == kLanesOf<T> && offsets[cols - 1] == offsets[0] + 2 * (cols - 1)) {
      return hn::StoreInterleaved2(row(0), row(1), d, to + offsets[0]);
    }
    if (run >= 4) {
      VecElementOf<T> t[kLanesOf<T>];
#pragma GCC unroll 16
      for (int64_t r = 0; r < kLanesOf<T>; ++r) t[r] = row(std::min<int64_t>(r, run - 1));
      TransposeSquare<T>(t);
      for (int64_t q = 0; q < cols; ++q) StoreN(t[q], to + offsets[q], run);
      return;
    }
#endif
    HWY_ALIGN T values[kLanesOf<T>];
    for (int r = 0; r < run; ++r) {
      StoreU(row(r), d, values);
      for (int64_t q = 0; q < cols; ++q) to[offsets[q] + r] = values[q];
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
  const int64_t parts = std::min<int64_t>(4 * GetNumThreads(), m * n * s.o / Grain(100000) + 1);
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
                            args.bias == nullptr ? nullptr : args.bias + g * s.c,
                            i0};
    const auto product = [&](const auto& chunks) HWY_ATTR {
      TileProduct<T>(i1 - i0, panels * col / grid.cols * kTileColsOf<T>,
                     std::min(n, panels * (col + 1) / grid.cols * kTileColsOf<T>), chunks, MatrixRows<T>{weight},
                     MatrixCols<T>{places, n, ReadInPlace(m, places)}, sink, {0, s.o});
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
void ConvEachPhaseKernel(const ConvEachPhaseArgs<float>& args) { OverEachPhase(args); }
void ConvEachPhaseKernel(const ConvEachPhaseArgs<double>& args) { OverEachPhase(args); }
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
