// SPDX-License-Identifier: MIT
// What the references of complex linear algebra share: matrices of pairs of doubles, element by element.
#pragma once

#include <vector>

#include "complex_numbers.h"
#include "matrices.h"

namespace repdl::reference {

using Pairs = std::vector<Complex>;

struct Grid {
  int64_t rows, columns;
  Pairs at;

  Complex& operator()(int64_t i, int64_t j) { return at[i * columns + j]; }
  Grid Transposed() {
    Grid result{columns, rows, Pairs(at.size())};
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) result(j, i) = (*this)(i, j);
    }
    return result;
  }
};

template <class T>
std::vector<Grid> GridsOf(const Arguments& args, std::string_view name) {
  const IntList shape = args.Shape(name);
  const Numbers<T> numbers = args.NumbersOf<T>(name);
  const int64_t rows = shape[shape.size() - 3], columns = shape[shape.size() - 2];
  int64_t batch = 1;
  for (int i = 0; i < shape.size() - 3; ++i) batch *= shape[i];
  std::vector<Grid> grids;
  for (int64_t n = 0; n < batch; ++n) {
    grids.push_back({rows, columns, {}});
    for (int64_t i = n * rows * columns; i < (n + 1) * rows * columns; ++i) {
      grids.back().at.push_back({numbers[2 * i], numbers[2 * i + 1]});
    }
  }
  return grids;
}

template <class T>
void Put(Complex x, Numbers<T>& to) {
  to.push_back(static_cast<T>(x.re));
  to.push_back(static_cast<T>(x.im));
}

template <class T>
void AppendGrids(Results& results, const std::vector<Grid>& grids, const IntList& shape) {
  Numbers<T> numbers;
  for (const Grid& grid : grids) {
    for (const Complex& x : grid.at) Put(x, numbers);
  }
  Append(results, numbers, shape);
}

/// x - a b, as in `complex_lu`.
inline Complex Less(Complex x, Complex a, Complex b) {
  const double re = std::fma(-a.re, b.re, x.re), im = std::fma(-a.re, b.im, x.im);
  return {std::fma(a.im, b.im, re), std::fma(-a.im, b.re, im)};
}

/// Changes b into x of A x = b.
inline void SolveTriangle(Grid& a, bool upper, bool unit, Pairs& b) {
  for (int64_t step = 0; step < a.rows; ++step) {
    const int64_t i = upper ? a.rows - 1 - step : step;
    for (int64_t done = 0; done < step; ++done) {
      const int64_t k = upper ? a.rows - 1 - done : done;
      b[i] = Less(b[i], a(i, k), b[k]);
    }
    if (!unit) b[i] = Over(b[i], a(i, i));
  }
}

}  // namespace repdl::reference
