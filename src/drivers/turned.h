// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/kernel.h"

namespace repdl {

/// Columns of a strip: those that fill a line of the cache.
template <class T>
inline constexpr int64_t kStripCols = 64 / sizeof(T);

/// A strip of a matrix whose columns lie side by side in memory, to be copied to rows.
template <class T>
struct TurnedArgs {
  const T* from;
  int64_t col_stride;  // of `from`; that of its rows is 1
  T* to;
  int64_t row_stride;  // of `to`; that of its columns is 1
  int64_t rows;
};

/// to[i * row_stride + j] = from[i + j * col_stride] for j < kStripCols, bit by bit.
REPDL_REAL_KERNEL(CopyTurnedStrip, TurnedArgs)

}  // namespace repdl
