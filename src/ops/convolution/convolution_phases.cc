// SPDX-License-Identifier: MIT
#include "ops/convolution/convolution_phases.h"

#include <algorithm>
#include <utility>

namespace repdl {
namespace {

/// Channels that have a term of chunk `chunk`: [first, second).
std::pair<int64_t, int64_t> ChannelsOf(int64_t chunk, int64_t chain_length, int64_t kernel_size, int64_t channels) {
  const int64_t terms = kernel_size * channels;
  if (terms <= chain_length) return {0, channels};
  const int64_t begin = chunk * chain_length, end = std::min(terms, begin + chain_length);
  return {begin / kernel_size, (end + kernel_size - 1) / kernel_size};
}

int64_t NumChunks(int64_t terms, int64_t chain_length) {
  return terms <= chain_length ? 1 : (terms - 1) / chain_length + 1;
}

}  // namespace

bool ConvPhases::Suit(const ConvSizes& s, int64_t chain_length) {
  // With more channels, the rows of one phase fill a tile.
  constexpr int64_t kFewChannels = 3;
  if (s.c > kFewChannels) return false;
  const int64_t kernel_size = NumPlaces(s.kernel), terms = s.o * kernel_size;
  int64_t with_zeros = 1;  // of a channel
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    if (s.kernel[axis] < s.stride[axis] || (s.dilation[axis] != 1 && s.kernel[axis] != 1)) return false;
    with_zeros *= (s.kernel[axis] + s.stride[axis] - 1) / s.stride[axis] * s.stride[axis];
  }
  int64_t runs = 0;
  for (int64_t chunk = 0; chunk < NumChunks(terms, chain_length); ++chunk) {
    const auto [first, end] = ChannelsOf(chunk, chain_length, kernel_size, s.o);
    runs += end - first;
  }
  // A product of one row takes about a fifth of the time of one that fills a tile.
  return terms > 0 && NumPlaces(s.stride) > 1 && s.c * runs * with_zeros <= 5 * terms;
}

ConvPhases::ConvPhases(const ConvSizes& s, int64_t chain_length)
    : plan(ConvPlan::GradInputTogether(s)), chain_length_(chain_length), kernel_size_(NumPlaces(s.kernel)) {
  const Axes whole = {s.input[1] * s.input[2], s.input[2], 1};
  Axes phase, tap;
  for (phase[0] = 0; phase[0] < s.stride[0]; ++phase[0]) {
    for (phase[1] = 0; phase[1] < s.stride[1]; ++phase[1]) {
      for (phase[2] = 0; phase[2] < s.stride[2]; ++phase[2]) {
        Row row{};
        for (int axis = 0; axis < kMaxAxes; ++axis) {
          const int64_t first = phase[axis] - s.padding[axis] % s.stride[axis];  // the place of position 0
          const int64_t behind = s.input[axis] - first;
          row.result += first * whole[axis];
          row.low[axis] = first < 0 ? 1 : 0;
          row.high[axis] = behind > 0 ? (behind - 1) / s.stride[axis] + 1 : 0;
        }
        rows.push_back(row);
        for (tap[0] = 0; tap[0] < plan.kernel[0].count; ++tap[0]) {
          for (tap[1] = 0; tap[1] < plan.kernel[1].count; ++tap[1]) {
            for (tap[2] = 0; tap[2] < plan.kernel[2].count; ++tap[2]) {
              int64_t place = 0;
              for (int axis = 0; axis < kMaxAxes; ++axis) {
                const int64_t along = phase[axis] + tap[axis] * s.stride[axis];
                place = place < 0 || along >= s.kernel[axis] ? -1 : place * s.kernel[axis] + along;
              }
              places_.push_back(place);
            }
          }
        }
      }
    }
  }
  for (int64_t chunk = 0; chunk < NumChunks(s.o * kernel_size_, chain_length); ++chunk) {
    first_channel.push_back(static_cast<int64_t>(channels.size()));
    const auto [first, end] = ChannelsOf(chunk, chain_length, kernel_size_, s.o);
    for (int64_t channel = first; channel < end; ++channel) channels.push_back(channel);
  }
  first_channel.push_back(static_cast<int64_t>(channels.size()));
}

template <class T>
void ConvPhases::PutWeights(const T* weight, int64_t stride, T* to) const {
  const int64_t taps = plan.num_taps();
  for (int64_t chunk = 0; chunk < num_chunks(); ++chunk) {
    for (int64_t i = first_channel[chunk]; i < first_channel[chunk + 1]; ++i) {
      const T* const from = weight + channels[i] * stride;
      // Places of the kernel whose terms belong to the chunk.
      int64_t low = 0, high = kernel_size_;
      if (num_chunks() > 1) {
        low = std::max(low, chunk * chain_length_ - channels[i] * kernel_size_);
        high = std::min(high, (chunk + 1) * chain_length_ - channels[i] * kernel_size_);
      }
      for (int64_t phase = 0; phase < count(); ++phase) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t place = places_[phase * taps + tap];
          to[phase * num_terms() + i * taps + tap] = place >= low && place < high ? from[place] : T{0};
        }
      }
    }
  }
}
template void ConvPhases::PutWeights(const float* weight, int64_t stride, float* to) const;
template void ConvPhases::PutWeights(const double* weight, int64_t stride, double* to) const;

}  // namespace repdl
