// SPDX-License-Identifier: MIT
// Factors and solutions of small matrices side by side, a lane for each.
#pragma once

#include "drivers/lane_matrix_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Exchanges number k of a row with one of [begin, n): in each lane that at `place`, if there is one.
HWY_INLINE void SwapNumbers(const LaneRow& x, int64_t k, VecOf<double> place, int64_t begin, int64_t n) {
  const VecOf<double> number = x[k];
  VecOf<double> other = number;
  for (int64_t i = begin; i < n; ++i) {
    const auto is_here = Eq(place, Set(TagOf<double>(), static_cast<double>(i)));
    const VecOf<double> here = x[i];
    other = IfThenElse(is_here, here, other);
    x.Put(i, IfThenElse(is_here, number, here));
  }
  x.Put(k, other);
}

/// Pivots as the op lu gives them, `steps` for each of the first `count` matrices; as places they count from 0.
inline void LoadPlaces(const int64_t* pivots, int64_t count, int64_t steps, const LaneRow& places) {
  for (int64_t k = 0; k < steps; ++k) {
    for (int64_t lane = 0; lane < kLanesOf<double>; ++lane) {
      (places + k).data[lane] = static_cast<double>(pivots[std::min(lane, count - 1) * steps + k] - 1);
    }
  }
}
inline void StorePlaces(const LaneRow& places, int64_t count, int64_t steps, int64_t* pivots) {
  for (int64_t k = 0; k < steps; ++k) {
    for (int64_t lane = 0; lane < count; ++lane) {
      pivots[lane * steps + k] = static_cast<int64_t>((places + k).data[lane]) + 1;
    }
  }
}

/// The factors, as columns. `info` is the number of a step, counted from 1.
struct LaneFactors {
  LaneRows columns;
  int64_t m, n;
  bool pivot;
  LaneRow places, info;

  void Run() const {
    const TagOf<double> d;
    info.Put(0, Zero(d));
    for (int64_t k = 0; k < std::min(m, n); ++k) {
      const LaneRow column = columns[k];
      places.Put(k, pivot ? PivotOf(column, k) : Set(d, static_cast<double>(k)));
      if (pivot) {
        for (int64_t c = 0; c < n; ++c) SwapNumbers(columns[c], k, places[k], k + 1, m);
      }
      const auto is_zero = Eq(column[k], Zero(d));
      const VecOf<double> step = IfThenElse(is_zero, Set(d, static_cast<double>(k + 1)), Zero(d));
      info.Put(0, IfThenElse(Eq(info[0], Zero(d)), step, info[0]));
      DivideRow(IfThenElse(is_zero, Set(d, 1.0), column[k]), column, k + 1, m);
      for (int64_t c = k + 1; c < n; ++c) SubtractRow(columns[c][k], column, columns[c], k + 1, m);
    }
  }

 private:
  /// The first of the largest in size, NaN before all numbers, as IsLarger says.
  VecOf<double> PivotOf(const LaneRow& column, int64_t k) const {
    const TagOf<double> d;
    VecOf<double> best = Set(d, static_cast<double>(k)), size = Abs(column[k]);
    for (int64_t i = k + 1; i < m; ++i) {
      const VecOf<double> other = Abs(column[i]);
      const auto stays = Or(IsNaN(size), Le(other, size));
      best = IfThenElse(stays, best, Set(d, static_cast<double>(i)));
      size = IfThenElse(stays, size, other);
    }
    return best;
  }
};

/// Solves for the rows `sides`, of which there are m, from the factors of n x n matrices.
inline void SolveLanes(const LaneRows& columns, int64_t n, const LaneRow& places, bool adjoint, const LaneRows& sides,
                       int64_t m) {
  const auto exchange = [&](int64_t k) HWY_ATTR {
    for (int64_t side = 0; side < m; ++side) SwapNumbers(sides[side], k, places[k], 0, n);
  };
  if (!adjoint) {
    for (int64_t k = 0; k < n; ++k) exchange(k);
    SubstituteEach(columns, n, false, true, sides, m);
    SubstituteEach(columns, n, true, false, sides, m);
    return;
  }
  Scratch scratch;
  const LaneRows rows = NewLaneRows(scratch, n, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < n; ++k) rows[i].Put(k, columns[k][i]);
  }
  SubstituteEach(rows, n, false, false, sides, m);
  SubstituteEach(rows, n, true, true, sides, m);
  for (int64_t k = n - 1; k >= 0; --k) exchange(k);
}

/// Rows of the identity, for each lane.
inline void SetIdentity(const LaneRows& x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) x[i].Put(j, Set(TagOf<double>(), i == j ? 1.0 : 0.0));
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
