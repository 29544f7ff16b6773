// SPDX-License-Identifier: MIT
#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/arena.h"
#include "base/parallel.h"
#include "drivers/unsigned.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/convolution/integer_convolution_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "drivers/add_product.lane.h"

namespace {

/// Products that are worth a fork.
constexpr int64_t kGrain = 16384;

/// Results of so many rows are summed side by side, for so many positions of a line.
constexpr int64_t kRows = 4, kPositions = 64;

/// What all threads read: the planes of all images as the plan has them, and where the taps lie.
template <class U>
struct PaddedPlanes {
  const U* data;
  std::vector<int64_t> taps;
};

/// The terms of `kCount` rows at positions that are neighbours.
template <class U, int64_t kCount>
HWY_INLINE void AddTerms(const IntegerConvArgs& args, const std::vector<int64_t>& taps, const U* image, const U* weight,
                         int64_t positions, U (*sums)[kPositions]) {
  const int64_t num_taps = args.plan.num_taps(), row = args.plan.channels * num_taps;
  for (int64_t c = 0; c < args.plan.channels; ++c) {
    for (int64_t t = 0; t < num_taps; ++t) {
      const U* const from = image + c * args.plan.plane_size + taps[t];
      const U* const factors = weight + c * num_taps + t;
      U factor[kCount];
      for (int64_t r = 0; r < kCount; ++r) factor[r] = factors[r * row];
      for (int64_t i = 0; i < positions; ++i) {
        for (int64_t r = 0; r < kCount; ++r) sums[r][i] = AddProduct(sums[r][i], factor[r], from[i]);
      }
    }
  }
}

/// Rows [row, row + kCount) of an image of group g.
template <class U, int64_t kCount>
void Convolve(const IntegerConvArgs& args, const PaddedPlanes<U>& planes, int64_t image, int64_t g, int64_t row) {
  const ConvPlan& plan = args.plan;
  const int64_t terms = plan.channels * plan.num_taps();
  const U* const from = planes.data + image * plan.channels * plan.plane_size;
  const U* const weight = static_cast<const U*>(args.weight) + (g * args.rows + row) * terms;
  const U* const bias = static_cast<const U*>(args.bias);
  U* const to = static_cast<U*>(args.result) + (image * args.rows + row) * plan.result_size + plan.first_result;
  HWY_ALIGN U sums[kCount][kPositions];
  for (int64_t line = 0; line < plan.num_lines(); ++line) {
    Axes at = plan.FirstOfLine(line);
    for (; at[2] < plan.positions[2]; at[2] += kPositions) {
      const int64_t positions = std::min(kPositions, plan.positions[2] - at[2]);
      for (int64_t r = 0; r < kCount; ++r) {
        std::fill(sums[r], sums[r] + positions, bias == nullptr ? U{0} : bias[g * args.rows + row + r]);
      }
      AddTerms<U, kCount>(args, planes.taps, from + plan.OffsetOf(at), weight, positions, sums);
      const int64_t first = at[0] * plan.result_step[0] + at[1] * plan.result_step[1] + at[2] * plan.result_step[2];
      for (int64_t r = 0; r < kCount; ++r) {
        U* const out = to + r * plan.result_size + first;
        for (int64_t i = 0; i < positions; ++i) out[i * plan.result_step[2]] = sums[r][i];
      }
    }
  }
}

template <class U>
void ConvolveAll(const IntegerConvArgs& args) {
  const ConvPlan& plan = args.plan;
  const int64_t num_planes = args.n * args.groups * plan.channels;
  Scratch scratch;
  U* const padded = scratch.Get<U>(num_planes * plan.plane_size);
  ParallelRanges(num_planes, 65536 / (plan.plane_size + 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      plan.Pad(static_cast<const U*>(args.source) + i * plan.source_plane(), padded + i * plan.plane_size);
    }
  });
  const PaddedPlanes<U> planes{padded, plan.TapOffsets()};
  const int64_t blocks = (args.rows + kRows - 1) / kRows;
  const int64_t products = plan.channels * plan.num_taps() * plan.num_positions() * kRows + 1;
  ParallelRanges(args.n * args.groups * blocks, kGrain / products + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / blocks, g = image % args.groups, row = i % blocks * kRows;
      if (row + kRows <= args.rows) {
        Convolve<U, kRows>(args, planes, image, g, row);
      } else {
        for (int64_t r = row; r < args.rows; ++r) Convolve<U, 1>(args, planes, image, g, r);
      }
    }
  });
}

}  // namespace

void IntegerConvKernel(const IntegerConvArgs& args) {
  DispatchUnsigned(args.dtype, [&]<class U>() { ConvolveAll<U>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
