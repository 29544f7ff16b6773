// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "ops/convolution/convolution_plan.h"

namespace repdl {

/// The gradient by the input in one product where the stride is more than 1. Along an axis, `stride` neighbours of the
/// input, from place + padding = 0 on, are one position, with a row of the product for each: its *phase*. All phases
/// read the same places of the gradient of the output, so these are read once, and rows fill a tile even where the
/// input has one channel.
///
/// A kernel that the stride does not divide has zeros behind it. The chains of the phases end at different taps of the
/// same channel: so a chunk has whole channels, and the channel in which it ends comes again in the next chunk, each
/// time with zeros in the place of the terms of the other. Like the zeros around the source these leave a chain as it
/// is, unless the other factor is not finite or the chain has become -0; and then the result is NaN or a zero.
struct ConvPhases {
  /// Where the results of a phase go: that of position 0 to `result`, if only positions [low, high) had a place.
  struct Row {
    int64_t result;
    Axes low, high;
  };

  /// Whether the input has few channels, and the zeros are few.
  static bool Suit(const ConvSizes& sizes, int64_t chain_length);

  ConvPhases(const ConvSizes& sizes, int64_t chain_length);

  int64_t count() const { return static_cast<int64_t>(rows.size()); }
  int64_t num_terms() const { return static_cast<int64_t>(channels.size()) * plan.num_taps(); }
  int64_t num_chunks() const { return static_cast<int64_t>(first_channel.size()) - 1; }

  /// The weights of the rows of an input channel, num_terms() each; `weight` is those of its first output channel, and
  /// those of the others lie `stride` apart.
  template <class T>
  void PutWeights(const T* weight, int64_t stride, T* to) const;

  ConvPlan plan;
  std::vector<Row> rows;               // by phase
  std::vector<int64_t> channels;       // output channels, as their terms come
  std::vector<int64_t> first_channel;  // number of the first one of each chunk, and the end

 private:
  int64_t chain_length_, kernel_size_;
  std::vector<int64_t> places_;  // in the kernel, of (phase, tap); -1 behind it
};

}  // namespace repdl
