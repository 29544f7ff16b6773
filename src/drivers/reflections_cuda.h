// SPDX-License-Identifier: MIT
// Householder's reflections on CUDA, and QR by them.
#pragma once

#include "drivers/matrix_cuda.h"

namespace repdl::scalar {

#include "drivers/reflection.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// Reflection j of x(i), of m numbers, by one thread.
template <class Number, class X, class V>
REPDL_LANE void Reflect(int64_t j, int64_t m, const Number& tau, const V& v, const X& x) {
  Number w = x(j);
  for (int64_t i = j + 1; i < m; ++i) w = scalar::PlusConjugate(w, v(i), x(i));
  const Number t = scalar::Times(tau, w);
  x(j) = scalar::Minus(x(j), t);
  for (int64_t i = j + 1; i < m; ++i) x(i) = Less(x(i), v(i), t);
}

/// The reflection of x(i), of n > 0 numbers, by the threads of a block, which have seen all of them: those behind the first
/// become those of the vector, and put(head) tells the head, to one thread.
template <class Number, class X, class Put>
__device__ __forceinline__ void MakeReflection(int64_t n, const X& x, double least, const Put& put,
                                               scalar::Head<Number>& shared) {
  if (threadIdx.x == 0) {
    double squares = 0.0;
    for (int64_t i = 1; i < n; ++i) squares = scalar::PlusSquares(squares, x(i));
    shared = scalar::Head<Number>::Of(x(0), squares, least);
    put(shared);
  }
  __syncthreads();  // it is known what the numbers are divided by
  for (int64_t i = 1 + threadIdx.x; i < n && shared.reflects; i += blockDim.x) x(i) = Quotient(x(i), shared.divisor);
  __syncthreads();
}

/// Q R of a matrix m x n, which lies in rows of n numbers, by the threads of a block.
template <class Number>
struct Qr {
  int64_t m, n;
  Number *numbers, *tau;
  double least;           // a column with squares of no more than this below the diagonal has no reflection
  double *sums, *scales;  // n each; without memory no column is chosen, and nothing is scaled
  int64_t* order;
  scalar::Head<Number>* shared;

  __device__ __forceinline__ int64_t Steps() const { return m < n ? m : n; }
  __device__ __forceinline__ Number& At(int64_t i, int64_t j) const { return numbers[i * n + j]; }

  /// From number(i, j). A thread has some columns.
  template <class From>
  __device__ __forceinline__ void Load(const From& number) const {
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
      if (order != nullptr) order[j] = j;
      for (int64_t i = 0; i < m; ++i) At(i, j) = number(i, j);
    }
  }

  __device__ __forceinline__ void Run(bool pivot) const {
    if (scales != nullptr) Scale(pivot);
    for (int64_t j = 0; j < Steps(); ++j) {
      __syncthreads();  // the reflection before is done
      if (pivot) Exchange(j);
      const auto column = [&](int64_t i) -> Number& { return At(j + i, j); };
      const auto put = [&](const scalar::Head<Number>& head) { tau[j] = head.tau, SetNumber(At(j, j), head.first); };
      MakeReflection<Number>(m - j, column, least, put, *shared);
      const Number factor = Conjugate(tau[j]);
      for (int64_t c = j + 1 + threadIdx.x; c < n; c += blockDim.x) {
        Reflect(j, m, factor, [&](int64_t i) { return At(i, j); }, [&](int64_t i) -> Number& { return At(i, c); });
      }
    }
    __syncthreads();
    if (scales != nullptr) ScaleBack();
  }

 private:
  /// Divides the columns, or with pivot all of them alike, by powers of two.
  __device__ __forceinline__ void Scale(bool pivot) const {
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
      double of_column = 0.0;
      for (int64_t i = 0; i < m; ++i) of_column = scalar::LargestPart(of_column, At(i, j));
      sums[j] = of_column;
    }
    __syncthreads();
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
      double of_all = sums[j];
      for (int64_t c = 0; c < n && pivot; ++c) of_all = scalar::LargestPart(of_all, sums[c]);
      const double scale = scales[j] = scalar::ScaleForSquares(of_all);
      if (scale == 1.0) continue;
      const double by = scalar::Div(1.0, scale);
      for (int64_t i = 0; i < m; ++i) At(i, j) = scalar::Times(At(i, j), by);
    }
  }
  __device__ __forceinline__ void ScaleBack() const {
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
      const double scale = scales[j];
      for (int64_t i = 0; i < m && i <= j && scale != 1.0; ++i) At(i, j) = scalar::Times(At(i, j), scale);
    }
    __syncthreads();
  }

  /// Columns j and that of the first largest squares, NaN before all numbers.
  __device__ __forceinline__ void Exchange(int64_t j) const {
    for (int64_t c = j + threadIdx.x; c < n; c += blockDim.x) {
      double sum = 0.0;
      for (int64_t i = j; i < m; ++i) sum = scalar::PlusSquares(sum, At(i, c));
      sums[c] = sum;
    }
    __syncthreads();
    int64_t chosen = j;
    for (int64_t c = j + 1; c < n; ++c) {
      if (scalar::IsLarger(sums[c], sums[chosen])) chosen = c;
    }
    for (int64_t i = threadIdx.x; i < m && chosen != j; i += blockDim.x) {
      const Number number = At(i, j);
      At(i, j) = At(i, chosen), At(i, chosen) = number;
    }
    if (threadIdx.x == 0) {
      const int64_t number = order[j];
      order[j] = order[chosen], order[chosen] = number;
    }
    __syncthreads();
  }
};

}  // namespace repdl::cuda
