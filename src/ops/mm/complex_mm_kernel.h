// SPDX-License-Identifier: MIT
#pragma once

#include "base/kernel.h"
#include "drivers/reduce.h"

namespace repdl {

/// Complex matrices as real ones: line i of the pairs, which lies at Offset(i) of its loops, becomes `length` real parts
/// side by side, and as many imaginary ones.
template <class T>
struct SplitPairsArgs {
  const T* pairs;
  Loops lines;
  int64_t length, step;  // of a line
  int64_t part_step;     // from a real part to its imaginary one
  bool conjugate;
  T* real;       // of the first line
  T* imaginary;  // likewise
  /// Lines lie line_step apart, and after each lines_each of them matrix_step counts instead.
  int64_t lines_each, line_step, matrix_step;
};

/// Of matrices of 2 rows × 2 columns, [[ac, ad], [bc, bd]] in blocks, rows × columns pairs (ac - bd, ad + bc).
template <class T>
struct JoinProductsArgs {
  const T* products;
  int64_t matrices, rows, columns;
  T* pairs;
  int64_t row_step, matrix_step;
};

/// The product of complex matrices, tile by tile.
template <class T>
struct ComplexTilesArgs {
  struct Operand {
    const T* pairs;  // of a real and an imaginary part side by side
    int64_t length, step, k_step;
    bool conjugate;
    Loops batch;
  };
  Operand a, b;  // of which the first has rows, and the other columns
  int64_t k, batch;
  Order order;
  T* output;
};

REPDL_REAL_KERNEL(ComplexTilesKernel, ComplexTilesArgs)
REPDL_REAL_KERNEL(SplitPairsKernel, SplitPairsArgs)
REPDL_REAL_KERNEL(JoinProductsKernel, JoinProductsArgs)

}  // namespace repdl
