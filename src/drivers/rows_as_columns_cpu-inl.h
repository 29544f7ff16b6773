// SPDX-License-Identifier: MIT
// Short rows turned, some hundred at a time: as columns a vector has one in each lane, where a row fills no vector.
#pragma once

#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Numbers of a row up to which that pays, if what a row costs alone is not more than usual. It does not reach the bits.
inline constexpr int64_t kMostAsColumn = 8;
/// Rows that are turned at a time, and how far the numbers of a row lie apart then: not in the same set of a cache.
inline constexpr int64_t kRowsAsColumns = 128, kColumnStep = kRowsAsColumns + 16;

template <class T, int64_t kMost = kMostAsColumn>
bool AreRowsAsColumns(int64_t num_rows, int64_t n) {
  return kLanesOf<T> > 1 && n >= 1 && n <= kMost && num_rows >= kLanesOf<T>;
}

/// Calls body(first, count, columns) for runs of rows that cover [0, num_rows): number i of row first + r is
/// columns[i * kColumnStep + r]. row_at(r, buffer) is n numbers side by side, in place or in the buffer.
template <class T, int64_t kMost = kMostAsColumn, class RowAt, class Body>
void ForRowsAsColumns(int64_t num_rows, int64_t n, const RowAt& row_at, const Body& body) {
  ParallelRanges(num_rows, 32768 / n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    // A copy of a row may go by whole vectors.
    HWY_ALIGN T columns[kMost * kColumnStep], buffer[kMost + kLanesOf<T>];
    for (int64_t first = begin; first < end; first += kRowsAsColumns) {
      const int64_t count = std::min(kRowsAsColumns, end - first);
      for (int64_t r = 0; r < count; ++r) {
        const T* const row = row_at(first + r, buffer);
        for (int64_t i = 0; i < n; ++i) columns[i * kColumnStep + r] = row[i];
      }
      body(first, count, columns);
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
