// SPDX-License-Identifier: MIT
// Steps on one row that softmax and cross entropy share. Numbers lie side by side.
#pragma once

#include <limits>

#include "drivers/map_cpu-inl.h"
#include "drivers/sum_cpu-inl.h"
#include "numerics/functions_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// The largest number of a row. With a NaN among them the result does not matter: every sum that it
/// enters is NaN.
HWY_INLINE float MaxOfRow(const float* x, int64_t n) {
  const FloatTag d;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  Vec largest = Set(d, kLowest);
  ForVectors(n, [&](int64_t i, int64_t count) HWY_ATTR { largest = Max(largest, LoadN(x + i, count, kLowest)); });
  HWY_ALIGN float lanes[kLanes];
  Store(largest, d, lanes);
  return *std::max_element(lanes, lanes + kLanes);
}

/// y[i] = x[i] - c
HWY_INLINE void SubtractFromRow(const float* x, float c, int64_t n, float* y) {
  const Vec subtrahend = Set(FloatTag(), c);
  ForVectors(n, [&](int64_t i, int64_t count) HWY_ATTR { StoreN(Sub(LoadN(x + i, count), subtrahend), y + i, count); });
}

/// y[i] = exp(x[i])
HWY_INLINE void ExpOfRow(const float* x, int64_t n, float* y) {
  ForVectors(n, [&](int64_t i, int64_t count) HWY_ATTR { StoreN(Exp(LoadN(x + i, count)), y + i, count); });
}

HWY_INLINE float LogOf(float x) { return hn::GetLane(Log(Set(FloatTag(), x))); }

/// A row put where it belongs: nothing to do if it was computed in place.
HWY_INLINE void PutRow(const float* row, int64_t n, float* to, int64_t stride) {
  if (row == to) return;
  for (int64_t i = 0; i < n; ++i) to[i * stride] = row[i];
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
