// SPDX-License-Identifier: MIT
// Where the bins of a box lie, on the host and in CUDA; the contract stands in roi_pool.h.
#pragma once

#include "numerics/lanes/scalar.h"
#include "ops/roi_pool/roi_pool_kernel.h"

namespace repdl {

/// A half is rounded away from zero.
template <class T>
REPDL_LANE int64_t RoundedFromZero(T x) {
  constexpr T kMost = 0x1p30;
  const T held = scalar::Limit(x, -kMost, kMost);
  const auto whole = static_cast<int64_t>(held);
  const T rest = scalar::Sub(held, static_cast<T>(whole));
  return rest >= static_cast<T>(0.5) ? whole + 1 : rest <= static_cast<T>(-0.5) ? whole - 1 : whole;
}

/// x >= 0, below 2^32.
template <class T>
REPDL_LANE int64_t RoundedUp(T x) {
  const auto whole = static_cast<int64_t>(x);
  return static_cast<T>(whole) < x ? whole + 1 : whole;
}

/// The elements that each bin of a box has along an axis.
template <class T>
REPDL_LANE void FindBins(T from, T to, T scale, int64_t bins, int64_t size, int32_t* begins, int32_t* ends) {
  const T start = scalar::Mul(from, scale), end = scalar::Mul(to, scale);
  const bool lost = start != start || end != end;
  const int64_t first = lost ? 0 : RoundedFromZero(start), last = lost ? 0 : RoundedFromZero(end);
  const int64_t length = last < first ? 1 : last - first + 1;
  const T bin = scalar::Div(static_cast<T>(length), static_cast<T>(bins));
  for (int64_t i = 0; i < bins; ++i) {
    const auto low = static_cast<int64_t>(scalar::Mul(static_cast<T>(i), bin));
    const int64_t high = RoundedUp(scalar::Mul(static_cast<T>(i + 1), bin));
    begins[i] = static_cast<int32_t>(scalar::Limit<int64_t>(first + low, 0, size));
    ends[i] = lost ? begins[i] : static_cast<int32_t>(scalar::Limit<int64_t>(first + high, 0, size));
  }
}

template <class T>
REPDL_LANE void FindBinsOfBox(const RoiPoolArgs<T>& args, int64_t r) {
  const T* const box = args.boxes + 4 * r;
  FindBins(box[0], box[2], args.scale, args.columns, args.width, args.x_begins + r * args.columns,
           args.x_ends + r * args.columns);
  FindBins(box[1], box[3], args.scale, args.rows, args.height, args.y_begins + r * args.rows,
           args.y_ends + r * args.rows);
}

}  // namespace repdl
