// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include "tensors.h"

namespace repdl::reference {

/// A matrix that is read through its strides: element (i, j) is data[i * row + j * column].
template <class T>
struct MatrixOf {
  const T* data;
  int64_t row, column;
  T operator()(int64_t i, int64_t j) const { return data[i * row + j * column]; }
};
using Matrix = MatrixOf<float>;

/// output[i, j] = Product over k of (a(i, k), b(k, j)), row-major, rows x columns, with K = depth.
template <class T = float>
Numbers<T> Mm(const MatrixOf<std::type_identity_t<T>>& a, const MatrixOf<std::type_identity_t<T>>& b, int64_t rows,
              int64_t columns, int64_t depth, Order order);

/// input [rows, depth], weight [columns, depth], bias [columns] or empty.
template <class T>
Numbers<T> Linear(const Numbers<T>& input, const Numbers<T>& weight, const Numbers<T>& bias, int64_t rows,
                  int64_t columns, int64_t depth, Order order);

}  // namespace repdl::reference
