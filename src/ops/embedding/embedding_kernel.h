// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "repdl/tensor.h"

namespace repdl {

/// Divides each row, in place, by its number, but not by 0.
template <class T>
struct DivideRowsArgs {
  int64_t rows, width;
  const int64_t* numbers;
  T* data;
};

/// Where the indices of bags are.
struct BagsArgs {
  int64_t count, bags, num_offsets;
  const int64_t* offsets;  // (num_offsets), bags of them or one more; checked, or they may stop the kernel of a device
  const int64_t* indices;  // (count)
  int64_t left_out;        // what the indices are that are left out
  int64_t* bounds;         // of the bags among the indices, (bags + 1)
  int64_t* bag_of;         // (count)
  int64_t* to;             // the same, or -1 where an index is left out; may be bag_of where none is
  int64_t* sizes;          // how many indices are kept, (bags)
};

/// For each bag: the first row of the table that its indices name, of which each number that is less than that of a later
/// row becomes that, and the indices of the rows that the numbers come from. Bags without rows stay as they are.
template <class T>
struct BagMaximaArgs {
  int64_t bags, width;
  const int64_t* bounds;  // of the bags among the indices, (bags + 1)
  const int64_t* indices;
  const int64_t* to;  // negative where an index is left out
  const T* table;     // (rows, width)
  int64_t rows;
  T* output;
  int64_t* maximum_indices;
};

/// For each index how often it comes, rounded; or one over that.
template <class T>
struct FrequencyArgs {
  int64_t count, rows;
  const int64_t* indices;  // in [0, rows)
  bool is_inverse;
  T* frequencies;
};

REPDL_KERNEL(BagsKernel, BagsArgs)
REPDL_REAL_KERNEL(DivideRowsKernel, DivideRowsArgs)
REPDL_REAL_KERNEL(BagMaximaKernel, BagMaximaArgs)
REPDL_REAL_KERNEL(FrequencyKernel, FrequencyArgs)

}  // namespace repdl
