// SPDX-License-Identifier: MIT
// The transform of a row of pairs as that of a matrix whose rows and columns are whole vectors. It stays in the nearest
// cache, and nothing lies apart there but the numbers of a square that is transposed.
#pragma once

#include "base/arena.h"
#include "drivers/transpose_cpu-inl.h"
#include "ops/fft/steps_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// Bytes of the planes of a row, which the nearest cache of most CPUs holds, and numbers from which on rows are worth it.
constexpr int64_t kMostBytesOfPlanes = 1 << 15;
constexpr int64_t kLeastInCache = 512;

/// How a row is cut: the factors before `split` make `rows` numbers, the others `columns`. It is not where split is 0.
struct Cut {
  int split = 0;
  int64_t rows = 0, columns = 0;
};

template <class T>
Cut CutOf(const FftTable<T>& table) {
  Cut best;
  const int64_t bytes = 4 * table.length * static_cast<int64_t>(sizeof(T));
  if (kLanesOf<T> == 1 || table.length < kLeastInCache || bytes > kMostBytesOfPlanes) return best;
  int64_t rows = 1;
  for (int i = 0; i + 1 < table.num_factors; ++i) {
    rows *= table.factors[i];
    const int64_t columns = table.length / rows;
    if (rows % kLanesOf<T> != 0 || columns % kLanesOf<T> != 0) continue;
    if (best.split == 0 || rows + columns < best.rows + best.columns) best = {i + 1, rows, columns};
  }
  return best;
}

/// Whether the numbers of a row lie side by side as pairs, in either order.
template <class T>
bool ArePairs(const FftRow<T>& row) {
  if (row.real == nullptr || row.imaginary == nullptr) return false;
  return row.step == 2 && (row.imaginary == row.real + 1 || row.real == row.imaginary + 1);
}

#if HWY_TARGET != HWY_SCALAR
/// to (columns, rows) of from (rows, columns).
template <class T>
void TransposePlane(const T* from, int64_t rows, int64_t columns, T* to) {
  constexpr int64_t kN = kLanesOf<T>;
  const TagOf<T> d;
  for (int64_t r = 0; r < rows; r += kN) {
    for (int64_t c = 0; c < columns; c += kN) {
      VecElementOf<T> square[kN];
      LoadTransposed<T>([&](int64_t i) HWY_ATTR { return from + (r + i) * columns + c; }, square);
#pragma GCC unroll 16
      for (int64_t i = 0; i < kN; ++i) StoreU(VecOf<T>(square[i]), d, to + (c + i) * rows + r);
    }
  }
}

/// The first step reads the pairs, and the last one writes them. `out` may be `in`.
template <class T>
void TransformInCache(const FftTable<T>& table, const Cut& cut, const FftRow<const T>& in, const FftRow<T>& out,
                      const Ending<T>& end) {
  const int64_t n = table.length, pitch = n + kLineOf<T>;  // planes do not lie a power of two apart
  Scratch scratch;
  T* const numbers = scratch.Get<T>(4 * pitch);
  Planes<T> x{numbers, numbers + pitch}, y{numbers + 2 * pitch, numbers + 3 * pitch};

  const auto in_pairs = [](const auto& row, const Ending<T>& end_of) {
    const bool are_swapped = row.real == row.imaginary + 1;
    const auto pairs = are_swapped ? row.imaginary : row.real;
    return InPairs<T, std::remove_const_t<decltype(pairs)>>{pairs, are_swapped, end_of};
  };
  StepRange range{0, cut.split, cut.rows, 0, 1, cut.columns, cut.columns};
  StepAt<T, Twiddles::kNone>(table, range, 0, 1, in_pairs(in, kNoEnding<T>), InPlanes<T>{x});
  range.first = 1;
  Steps(table, range, table.factors[0], x, y);
  TransposePlane(x.re, cut.rows, cut.columns, y.re);
  TransposePlane(x.im, cut.rows, cut.columns, y.im);
  const int last = table.num_factors - 1;
  range = {cut.split, last, cut.columns, 0, cut.rows, cut.rows, cut.rows};
  Steps(table, range, 1, y, x);
  StepAt<T, Twiddles::kOfColumn>(table, range, last, cut.columns / table.factors[last], InPlanes<T>{y},
                                 in_pairs(out, end));
}
#else
template <class T>
void TransformInCache(const FftTable<T>&, const Cut&, const FftRow<const T>&, const FftRow<T>&, const Ending<T>&) {}
#endif

}  // namespace
}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
