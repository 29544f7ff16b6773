// SPDX-License-Identifier: MIT
#pragma once

#include "tensors.h"

namespace repdl::reference {

/// A matrix that is read through its strides: element (i, j) is data[i * row + j * column].
struct Matrix {
  const float* data;
  int64_t row, column;
  float operator()(int64_t i, int64_t j) const { return data[i * row + j * column]; }
};

/// output[i, j] = Product over k of (a(i, k), b(k, j)), row-major, rows x columns, with K = depth.
Floats Mm(const Matrix& a, const Matrix& b, int64_t rows, int64_t columns, int64_t depth, Order order);

/// input [rows, depth], weight [columns, depth], bias [columns] or empty.
Floats Linear(const Floats& input, const Floats& weight, const Floats& bias, int64_t rows, int64_t columns,
              int64_t depth, Order order);

}  // namespace repdl::reference
