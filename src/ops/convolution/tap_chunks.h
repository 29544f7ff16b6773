// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "numerics/order.h"
#include "ops/convolution/convolution_plan.h"

namespace repdl {

/// Where the chains of a product over channels and taps end. Terms are numbered by (channel, place in the kernel), and the
/// chunks by all of them, of which the plan may lack some; the ends are by the terms that it has, so that a chunk may have
/// none.
class TapChunks {
 public:
  /// Every term is there.
  REPDL_WALK explicit TapChunks(const Chunks& all) : num_terms(all.num_terms), count(all.count), all_(all) {}
  [[gnu::always_inline]] TapChunks(const ConvPlan& plan, const Axes& kernel, int64_t chain)
      : num_terms(plan.channels * plan.num_taps()),
        count(0),
        all_(num_terms == 0 ? 0 : plan.channels * NumPlaces(kernel), chain),
        num_taps_(plan.num_taps()) {
    count = all_.count;
    for (int axis = 0; axis < kMaxAxes; ++axis) taken_[axis] = plan.kernel[axis], sizes_[axis] = kernel[axis];
  }

  REPDL_WALK int64_t Begin(int64_t index) const { return Below(all_.Begin(index)); }
  REPDL_WALK int64_t End(int64_t index) const { return Below(all_.End(index)); }
  /// Of the first term: a product adds all in one call.
  REPDL_WALK int64_t IndexOf(int64_t) const { return 0; }

  int64_t num_terms, count;

 private:
  /// How many of the first k terms are of taps that the plan has.
  REPDL_WALK int64_t Below(int64_t k) const {
    const int64_t places = sizes_[0] * sizes_[1] * sizes_[2], rest = k % places;
    const int64_t place[] = {rest / (sizes_[1] * sizes_[2]), rest / sizes_[2] % sizes_[1], rest % sizes_[2]};
    int64_t below = k / places * num_taps_, taps = num_taps_;
    for (int axis = 0; axis < kMaxAxes && taps > 0; ++axis) {
      taps /= taken_[axis].count;
      const int64_t before = taken_[axis].Below(place[axis]);
      below += before * taps;
      if (taken_[axis].Below(place[axis] + 1) == before) break;  // the plan lacks this place
    }
    return below;
  }

  Chunks all_;
  int64_t sizes_[kMaxAxes] = {1, 1, 1}, num_taps_ = 1;
  Progression taken_[kMaxAxes] = {{0, 1, 1}, {0, 1, 1}, {0, 1, 1}};
};

}  // namespace repdl
