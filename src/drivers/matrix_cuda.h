// SPDX-License-Identifier: MIT
// What kernels of linear algebra share on CUDA: numbers, real or complex, that are computed in double.
#pragma once

#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"
#include "drivers/matrices.h"
#include "numerics/complex_scalar.h"

namespace repdl::cuda {

struct Complex {
  double re, im;
};

// The steps, of real numbers and of complex ones.
REPDL_LANE double Conjugate(double x) { return x; }
REPDL_LANE Complex Conjugate(const Complex& x) { return {x.re, scalar::Neg(x.im)}; }

REPDL_LANE double RealPart(double x) { return x; }
REPDL_LANE double RealPart(const Complex& x) { return x.re; }

/// c without the product of a and b; of complex numbers `Less` of the contract.
REPDL_LANE double Less(double c, double a, double b) { return scalar::Fma(scalar::Neg(a), b, c); }
REPDL_LANE Complex Less(const Complex& c, const Complex& a, const Complex& b) {
  const double re = scalar::Neg(a.re), im = scalar::Neg(a.im);
  return {scalar::Fma(a.im, b.im, scalar::Fma(re, b.re, c.re)), scalar::Fma(im, b.re, scalar::Fma(re, b.im, c.im))};
}

REPDL_LANE double Quotient(double x, double y) { return scalar::Div(x, y); }
REPDL_LANE Complex Quotient(const Complex& x, double y) { return {scalar::Div(x.re, y), scalar::Div(x.im, y)}; }
REPDL_LANE Complex Quotient(const Complex& x, const Complex& y) {
  Complex quotient;
  scalar::ComplexDiv()(scalar::Tag<double>(), x.re, x.im, y.re, y.im, quotient.re, quotient.im);
  return quotient;
}

REPDL_LANE void SetNumber(double& x, double value) { x = value; }
REPDL_LANE void SetNumber(Complex& x, double value) { x = {value, 0.0}; }

/// Number `at` of a tensor, widened.
REPDL_LANE double LoadDouble(const void* data, DType dtype, int64_t at) {
  return dtype == DType::kFloat64 ? static_cast<const double*>(data)[at]
                                  : static_cast<double>(static_cast<const float*>(data)[at]);
}
REPDL_LANE void StoreDouble(void* data, DType dtype, int64_t at, double value) {
  if (dtype == DType::kFloat64) {
    static_cast<double*>(data)[at] = value;
  } else {
    static_cast<float*>(data)[at] = scalar::ToFloat(scalar::Tag<float>(), value);
  }
}

/// Element (i, j) of a matrix of a batch.
REPDL_LANE void LoadElement(const Matrices& from, int64_t matrix, int64_t i, int64_t j, double& to) {
  to = LoadDouble(from.data, from.dtype, matrix * from.step + i * from.row_stride + j * from.col_stride);
}
REPDL_LANE void LoadElement(const Matrices& from, int64_t matrix, int64_t i, int64_t j, Complex& to) {
  const int64_t at = matrix * from.step + i * from.row_stride + j * from.col_stride;
  to = {LoadDouble(from.data, from.dtype, at), LoadDouble(from.data, from.dtype, at + from.part_stride)};
}
template <class Number>
REPDL_LANE Number ElementOf(const Matrices& from, int64_t matrix, int64_t i, int64_t j) {
  Number number;
  LoadElement(from, matrix, i, j, number);
  return number;
}

/// Number `at` of results that lie side by side, rounded once.
REPDL_LANE void StoreElement(void* to, DType dtype, int64_t at, double value) { StoreDouble(to, dtype, at, value); }
REPDL_LANE void StoreElement(void* to, DType dtype, int64_t at, const Complex& value) {
  StoreDouble(to, dtype, 2 * at, value.re);
  StoreDouble(to, dtype, 2 * at + 1, value.im);
}

/// Some of the threads that share a matrix.
struct Threads {
  int64_t first, step;
};

/// A block for each of some right sides of n numbers: where they are many a warp, whose barriers cost less.
inline Grid GridOfSides(int64_t sides, int64_t n) {
  constexpr int64_t kWarp = 32, kMany = 64;
  const int64_t most = sides >= kMany ? kWarp : kThreadsPerBlock;
  return {std::min(sides, kMaxBlocks), static_cast<int>(std::min((n + kWarp - 1) / kWarp * kWarp, most))};
}

/// The unknowns of a right side, which `left` holds, by the threads of a block, to whom at(i, k) is element (i, k) of a
/// triangle. Once an unknown is found, its terms are taken from all that are not.
template <class Number, class At>
__device__ __forceinline__ void Substitute(int64_t n, bool upper, bool unit, const At& at, Number* left,
                                           Number* found) {
  for (int64_t step = 0; step < n; ++step) {
    __syncthreads();  // nothing is to be taken from unknown k any more
    const int64_t k = upper ? n - 1 - step : step;
    Number x = left[k];
    if (!unit) x = Quotient(x, at(k, k));
    if (threadIdx.x == 0) found[k] = x;
    const int64_t begin = upper ? 0 : k + 1, end = upper ? k : n;
    for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) left[i] = Less(left[i], at(i, k), x);
  }
  __syncthreads();
}

}  // namespace repdl::cuda
