// SPDX-License-Identifier: MIT
// Small matrices of a batch side by side, a lane for each, for the templates of matrix_cpu-inl.h.
#pragma once

#include "drivers/lanes_of_matrices_cpu-inl.h"
#include "drivers/matrix_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// A row of vectors, each of which has a number of every matrix.
struct LaneRow {
  double* data;

  LaneRow operator+(int64_t by) const { return {data + by * kLanesOf<double>}; }
  HWY_INLINE VecOf<double> operator[](int64_t i) const { return LoadU(TagOf<double>(), (*this + i).data); }
  HWY_INLINE void Put(int64_t i, VecOf<double> x) const { StoreU(x, TagOf<double>(), (*this + i).data); }
};

/// Matrices whose rows lie side by side, `stride` numbers each.
struct LaneRows {
  LaneRow data;
  int64_t stride;

  LaneRow operator[](int64_t i) const { return data + i * stride; }
};

inline LaneRows NewLaneRows(Scratch& scratch, int64_t rows, int64_t cols) {
  return {{scratch.Get<double>(rows * cols * kLanesOf<double>)}, cols};
}

/// Reads matrices [first, first + count), widened; lanes behind them have the last one.
inline void LoadLanes(const Matrices& from, int64_t first, int64_t count, int64_t rows, int64_t cols,
                      const LaneRows& to) {
  const MatrixPlaces places(rows, cols, from.row_stride, from.col_stride);
  DispatchReal(from.dtype, [&]<class T>() {
    const T* const data = static_cast<const T*>(from.data) + first * from.step;
    places.Load(count, [&](int64_t matrix) { return data + matrix * from.step; }, to[0].data);
  });
}

/// Writes the first `count` matrices, rows x cols numbers side by side in each, rounded once.
inline void StoreLanes(const LaneRows& from, int64_t count, int64_t rows, int64_t cols, DType dtype, void* to,
                       int64_t at) {
  DispatchReal(dtype, [&]<class T>() { StoreMatrices(from[0].data, rows * cols, count, static_cast<T*>(to) + at); });
}

HWY_INLINE VecOf<double> Conjugate(VecOf<double> x) { return x; }

/// y[i] = fma(-factor, x[i], y[i]) for i in [begin, end).
HWY_INLINE void SubtractRow(VecOf<double> factor, const LaneRow& x, const LaneRow& y, int64_t begin, int64_t end) {
  const VecOf<double> times = Neg(factor);
  for (int64_t i = begin; i < end; ++i) y.Put(i, Fma(times, x[i], y[i]));
}
HWY_INLINE void SubtractColumn(const LaneRow& x, VecOf<double> factor, const LaneRow& y, int64_t begin, int64_t end) {
  SubtractRow(factor, x, y, begin, end);
}

/// y[i] = y[i] / divisor for i in [begin, end).
HWY_INLINE void DivideRow(VecOf<double> divisor, const LaneRow& y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y.Put(i, Div(y[i], divisor));
}
HWY_INLINE void DivideNumber(const LaneRow& x, int64_t i, VecOf<double> by) { x.Put(i, Div(x[i], by)); }

/// run(first, count) for lanes of matrices of a batch, if they are as small and as many as that pays; whether they are.
/// `work` is about the number of multiplications of a matrix, `side` its larger size.
template <class Run>
bool ForLanes(int64_t batch, int64_t side, int64_t work, const Run& run) {
  constexpr int64_t kLanes = kLanesOf<double>;
  if (kLanes == 1 || side > kMaxLaneSide || 2 * batch < kLanes + 2) return false;
  ParallelRanges((batch + kLanes - 1) / kLanes, 20000 / (work + 500) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(i * kLanes, std::min(kLanes, batch - i * kLanes));
  });
  return true;
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
