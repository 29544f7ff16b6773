// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "tensors.h"

namespace repdl::reference {

template <class T>
Numbers<T> Relu(Numbers<T> values) {
  for (T& x : values) {
    if (x < 0) x = 0;
  }
  return values;
}

template <class T>
Numbers<T> ReluGrad(const Numbers<T>& grad_output, const Numbers<T>& output) {
  Numbers<T> grad_input(output.size());
  for (size_t i = 0; i < output.size(); ++i) grad_input[i] = output[i] <= 0 ? 0 : grad_output[i];
  return grad_input;
}

/// NaN if one is NaN; of equal numbers the one without a sign.
template <class T>
T LargerOf(T x, T y) {
  if (std::isnan(x)) return x;
  if (std::isnan(y)) return y;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

}  // namespace repdl::reference
