// SPDX-License-Identifier: MIT
// What the references of linear algebra share: matrices of doubles, element by element, and reflections.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "op.h"

namespace repdl::reference {

using Doubles = Numbers<double>;

/// The matrix number n of a row-major tensor (…, rows, columns), as doubles.
struct Square {
  int64_t rows, columns;
  Doubles at;

  double& operator()(int64_t i, int64_t j) { return at[i * columns + j]; }
  Square Transposed() {
    Square result{columns, rows, Doubles(at.size())};
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) result(j, i) = (*this)(i, j);
    }
    return result;
  }
};

template <class T>
std::vector<Square> MatricesOf(const Arguments& args, std::string_view name) {
  const IntList shape = args.Shape(name);
  const int64_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  const Numbers<T> numbers = args.NumbersOf<T>(name);
  int64_t batch = 1;
  for (int i = 0; i < shape.size() - 2; ++i) batch *= shape[i];
  std::vector<Square> matrices;
  for (int64_t n = 0; n < batch; ++n) {
    const auto first = numbers.begin() + n * rows * columns;
    matrices.push_back({rows, columns, Doubles(first, first + rows * columns)});
  }
  return matrices;
}

/// The matrices one after the other, rounded once.
template <class T>
void Append(Results& results, const std::vector<Square>& matrices, const IntList& shape) {
  Numbers<T> numbers;
  for (const Square& matrix : matrices) {
    for (double x : matrix.at) numbers.push_back(static_cast<T>(x));
  }
  reference::Append(results, numbers, shape);
}

/// x becomes the reflection of x that v and tau make, from place j on.
inline void Reflect(const Doubles& v, double tau, int64_t j, Doubles& x) {
  double w = x[j];
  for (size_t i = j + 1; i < x.size(); ++i) w = std::fma(v[i], x[i], w);
  const double t = tau * w;
  x[j] = x[j] - t;
  for (size_t i = j + 1; i < x.size(); ++i) x[i] = std::fma(-v[i], t, x[i]);
}

inline double SquaresFrom(const Doubles& x, int64_t first) {
  double sum = 0;
  for (size_t i = first; i < x.size(); ++i) sum = std::fma(x[i], x[i], sum);
  return sum;
}

}  // namespace repdl::reference
