// SPDX-License-Identifier: MIT
// Steps on one row that softmax and cross entropy share. Numbers lie side by side.
#pragma once

#include <limits>

#include "drivers/map_cpu-inl.h"
#include "drivers/sum_cpu-inl.h"
#include "numerics/functions_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// The functions that rows take, of each type that has them.
HWY_INLINE VecOf<float> ExpOfEach(VecOf<float> x) { return Exp(x); }
HWY_INLINE VecOf<float> LogOfEach(VecOf<float> x) { return Log(x); }

/// The largest number of a row. With a NaN among them the result does not matter: every sum that it
/// enters is NaN.
template <class T>
HWY_INLINE T MaxOfRow(const T* x, int64_t n) {
  const TagOf<T> d;
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  VecOf<T> largest = Set(d, kLowest);
  ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR { largest = Max(largest, LoadN(x + i, count, kLowest)); });
  HWY_ALIGN T lanes[kLanesOf<T>];
  Store(largest, d, lanes);
  return *std::max_element(lanes, lanes + kLanesOf<T>);
}

/// y[i] = x[i] - c
template <class T>
HWY_INLINE void SubtractFromRow(const T* x, std::type_identity_t<T> c, int64_t n, T* y) {
  const VecOf<T> subtrahend = Set(TagOf<T>(), c);
  ForVectors<T>(n,
                [&](int64_t i, int64_t count) HWY_ATTR { StoreN(Sub(LoadN(x + i, count), subtrahend), y + i, count); });
}

/// y[i] = exp(x[i])
template <class T>
HWY_INLINE void ExpOfRow(const T* x, int64_t n, T* y) {
  ForVectors<T>(n, [&](int64_t i, int64_t count) HWY_ATTR { StoreN(ExpOfEach(LoadN(x + i, count)), y + i, count); });
}

template <class T>
HWY_INLINE T LogOf(T x) {
  return hn::GetLane(LogOfEach(Set(TagOf<T>(), x)));
}

/// A row put where it belongs: nothing to do if it was computed in place.
template <class T>
HWY_INLINE void PutRow(const T* row, int64_t n, T* to, int64_t stride) {
  if (row == to) return;
  for (int64_t i = 0; i < n; ++i) to[i * stride] = row[i];
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
