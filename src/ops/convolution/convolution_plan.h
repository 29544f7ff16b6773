// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "numerics/order.h"
#include "repdl/tensor.h"

namespace repdl {

/// Depth, height and width; a convolution of fewer dimensions lacks the first ones, which then have size 1.
inline constexpr int kMaxAxes = 3;
using Axes = std::array<int64_t, kMaxAxes>;

inline int64_t NumPlaces(const Axes& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/// Sizes of a convolution; c and o are those of one group.
struct ConvSizes {
  int64_t n, c, o, groups;
  Axes input, kernel, output;
  Axes stride, padding, dilation;
};

/// The numbers first, first + step, …, `count` of them.
struct Progression {
  int64_t first = 0, step = 1, count = 0;

  REPDL_WALK int64_t At(int64_t i) const { return first + i * step; }
  REPDL_WALK int64_t Last() const { return At(count - 1); }
  /// How many of them are less than x, if they ascend.
  REPDL_WALK int64_t Below(int64_t x) const {
    if (x <= first) return 0;
    const int64_t below = (x - first + step - 1) / step;
    return below < count ? below : count;
  }
};

/// Which of the places first, first + step, …, `count` of them, lie in a line of `size`: numbers [begin, end).
struct PlacesInLine {
  int64_t begin, end;

  PlacesInLine(int64_t size, int64_t first, int64_t step, int64_t count) : begin(0), end(count) {
    if (first < 0) begin = std::min(count, step == 1 ? -first : (step - 1 - first) / step);
    if (first + (count - 1) * step < size) return;
    end = first >= size ? begin : std::max(begin, step == 1 ? size - first : (size - 1 - first) / step + 1);
  }
};

/// How the terms of a convolution are read. The source images (the input, or the gradient of the output) are copied
/// with room around them, so that the term of a *tap* (a place in the kernel) at a *position* (a place in what is
/// computed) lies at
///     OffsetOf(position) + TapOffsets()[tap]
/// of the padded plane, in bounds for every pair. A pair is present if it is along each axis.
class ConvPlan {
 public:
  /// Reads the input at the positions of the output: forward, and the gradient by the weight.
  static ConvPlan Forward(const ConvSizes& sizes);
  /// Reads the gradient of the output at those positions of the input whose remainders modulo the stride are `phase`:
  /// they have the same taps, which may be none.
  static ConvPlan GradInput(const ConvSizes& sizes, const Axes& phase);
  /// Reads the gradient of the output for all places of the input, `stride` neighbours along an axis to a position:
  /// what ConvPhases computes.
  static ConvPlan GradInputTogether(const ConvSizes& sizes);

  int64_t channels;  // source channels of a group
  Axes source;       // sizes of a source plane
  Axes positions;
  Axes step;                                 // from one position to the next, in the padded plane
  int64_t plane_size;                        // of a padded plane
  std::array<Progression, kMaxAxes> kernel;  // whose triples are the taps
  bool masked;                               // some term is absent, and a zero would not do in its place
  // The result of a position lies at first_result + position * result_step of its plane.
  int64_t first_result, result_size;
  Axes result_step;

  int64_t num_taps() const { return kernel[0].count * kernel[1].count * kernel[2].count; }
  int64_t num_positions() const { return NumPlaces(positions); }
  int64_t source_plane() const { return NumPlaces(source); }
  int64_t source_size() const { return channels * source_plane(); }
  /// Positions that are neighbours along the last axis are a line.
  int64_t num_lines() const { return positions[0] * positions[1]; }
  Axes FirstOfLine(int64_t line) const { return {line / positions[1], line % positions[1], 0}; }
  int64_t OffsetOf(const Axes& position) const {
    return position[0] * step[0] + position[1] * step[1] + position[2] * step[2];
  }

  /// Whether number u of the kernel's places along an axis reads a source place at this position along it.
  bool IsPresent(int axis, int64_t u, int64_t position) const {
    const int64_t place = position * phases_[axis] + taps_[axis].At(u) - before_[axis];
    return place >= 0 && place < source[axis];
  }
  /// The source place that tap 0 reads at position 0 along an axis; and from one position, or tap, to the next.
  int64_t FirstPlace(int axis) const { return taps_[axis].first - before_[axis]; }
  int64_t PositionStep(int axis) const { return phases_[axis]; }
  int64_t TapStep(int axis) const { return taps_[axis].step; }

  std::vector<int64_t> TapOffsets() const;

  /// Padded places are split by their remainders modulo a stride, into parts of the same size. What a tap reads at a
  /// position lies at OffsetOf(position) + shift of a part.
  struct Tap {
    Axes part;
    int64_t shift;
  };
  std::vector<Tap> Taps() const;
  /// How many parts the taps read.
  int64_t NumPartsOfTaps() const;
  int64_t part_size() const { return phase_step_[2]; }

  /// Whether the taps are neighbours, all that they read are source places, and none is read twice.
  bool ReadsOnce() const;

  /// Whether a padded plane is the source plane itself.
  bool IsPlain() const { return NumPlaces(phases_) == 1 && before_ == Axes{} && padded_ == source; }
  /// Copies a source plane of integers, row-major, into a padded one.
  template <class T>
  void Pad(const T* source, T* padded) const;
  /// How places [begin, end) of a part are copied: copy(at, count, line, first, step) for runs of them from number `at` on,
  /// which are the places first, first + step, … of a line of the source, whose number is `line`. Those outside of the line
  /// are zeros, as are all if `line` is negative.
  template <class Copy>
  [[gnu::always_inline]] void ForLines(const Axes& part, int64_t begin, int64_t end, const Copy& copy) const {
    const int64_t lines = step[0] / step[1], cols = step[1];
    int64_t line = begin / cols, col = begin % cols;
    int64_t z = line / lines;
    line %= lines;
    for (int64_t at = 0; at < end - begin; col = 0) {
      const int64_t count = std::min(end - begin - at, cols - col);
      const int64_t from_z = z * phases_[0] + part[0] - before_[0], from_y = line * phases_[1] + part[1] - before_[1];
      const bool is_there = from_z >= 0 && from_z < source[0] && from_y >= 0 && from_y < source[1];
      copy(at, count, is_there ? from_z * source[1] + from_y : int64_t{-1}, col * phases_[2] + part[2] - before_[2],
           phases_[2]);
      at += count;
      if (++line == lines) line = 0, ++z;
    }
  }
  /// The same of a whole padded plane.
  template <class Copy>
  [[gnu::always_inline]] void ForLines(const Copy& copy) const {
    Axes part;
    int64_t begin = 0;
    for (part[0] = 0; part[0] < phases_[0]; ++part[0]) {
      for (part[1] = 0; part[1] < phases_[1]; ++part[1]) {
        for (part[2] = 0; part[2] < phases_[2]; ++part[2], begin += part_size()) {
          ForLines(part, 0, part_size(), [&](int64_t at, int64_t count, int64_t line, int64_t first, int64_t along) {
            copy(begin + at, count, line, first, along);
          });
        }
      }
    }
  }

  /// Positions that a vector can serve: its lanes are neighbours in the padded plane.
  struct Slots {
    struct Fragment {  // lanes whose positions are neighbours too
      int lane, length;
      Axes position;         // of the first
      int64_t result;        // where it goes
      int64_t image, place;  // of the padded planes of all images; of dense slots alone
    };
    int64_t count = 0;
    std::vector<int64_t> source;  // where each slot begins in the padded plane
    std::vector<Fragment> fragments;
    std::vector<size_t> first_fragment;  // of each slot; one more at the end
    // With absent terms: a bit a lane, `bytes` bytes a tap, for each slot; and which slots need them.
    std::vector<uint8_t> present;
    std::vector<char> masked;
  };
  /// All positions of an image in vectors of `lanes`. They run over the ends of lines, and then are in more fragments, if
  /// that takes less than `percent` of the slots.
  Slots MakeSlots(int lanes, int percent) const;
  /// All positions of several images, without idle lanes but behind the end: neighbours are in fragments alone.
  Slots MakeDenseSlots(int lanes, int64_t num_images) const;

 private:
  /// With the rest set.
  void Finish();
  void AddSlots(int lanes, int percent, Slots& slots) const;
  void MarkPresent(int lanes, Slots& slots) const;

  // Source place i of an axis lands in padded place i + before_. Padded places are split by their remainders modulo
  // phases_, into planes of the same size, so that a stride reads neighbours.
  Axes before_, padded_, phases_, phase_step_;
  std::array<Progression, kMaxAxes> taps_;  // the padded places that the taps read at position 0
};

}  // namespace repdl
