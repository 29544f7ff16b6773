// SPDX-License-Identifier: MIT
// What kernels of linear algebra share on CUDA: numbers, real or complex, that are computed in double.
#pragma once

#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"
#include "drivers/matrices.h"
#include "drivers/number_scalar.h"

namespace repdl::cuda {

using scalar::Complex;
using scalar::Conjugate;
using scalar::Less;
using scalar::Quotient;
using scalar::SetNumber;

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

/// Threads of a block that works on `length` numbers at a time: whole warps, of which few cost less at barriers.
inline int ThreadsFor(int64_t length, int64_t most = kThreadsPerBlock) {
  constexpr int64_t kWarp = 32;
  return static_cast<int>(std::clamp((length + kWarp - 1) / kWarp * kWarp, kWarp, most));
}

/// Groups of threads, of which one each finds the best of its group.
inline constexpr int kGroups = 16;
/// Places that `LargestOfBlock` needs in shared memory.
inline constexpr int kCandidates = kThreadsPerBlock + kGroups;

/// The first of the largest size_of(i), NaN before all numbers, of i in [begin, end), by the threads of a block. Without
/// numbers the size is -1.
template <class Size>
__device__ __forceinline__ scalar::Largest LargestOfBlock(int64_t begin, int64_t end, const Size& size_of,
                                                          scalar::Largest* candidates) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  scalar::Largest best{-1.0, end};
  for (int64_t i = begin + thread; i < end; i += threads) {
    const scalar::Largest candidate{size_of(i), i};
    if (candidate.IsBefore(best)) best = candidate;
  }
  candidates[thread] = best;
  __syncthreads();
  if (thread < kGroups) {
    for (int other = thread + kGroups; other < threads; other += kGroups) {
      if (candidates[other].IsBefore(best)) best = candidates[other];
    }
    candidates[threads + thread] = best;
  }
  __syncthreads();
  best = candidates[threads];
  for (int group = 1; group < kGroups; ++group) {
    if (candidates[threads + group].IsBefore(best)) best = candidates[threads + group];
  }
  return best;
}

/// Right sides of the matrices of a batch, n numbers each, which lie side by side in the output as they do in scratch
/// memory: what is left of them, and the unknowns that are found.
template <class Number>
struct Sides {
  int64_t batch, num_rows, n;
  Matrices rows;  // without data those of the identity
  DType dtype;
  void* output;
  Number *left, *found;

  int64_t Count() const { return batch * num_rows; }
  /// A block for each: where they are many a warp, whose barriers cost less.
  Grid GridOfSides() const {
    constexpr int64_t kMany = 64;
    return {std::min(Count(), kMaxBlocks), ThreadsFor(Count() >= kMany ? 1 : n)};
  }

  /// solve(matrix, left, found) by the threads of a block; it begins and ends with barriers.
  template <class Solve>
  __device__ __forceinline__ void ForEach(const Solve& solve) const {
    for (int64_t unit = blockIdx.x; unit < batch * num_rows; unit += gridDim.x) {
      int64_t matrix = unit;
      const int64_t row = scalar::TakeRemainder(matrix, num_rows);
      Number *const of_left = left + unit * n, *const of_found = found + unit * n;
      for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        if (rows.data != nullptr) {
          of_left[i] = ElementOf<Number>(rows, matrix, row, i);
        } else {
          SetNumber(of_left[i], i == row ? 1.0 : 0.0);
        }
      }
      solve(matrix, of_left, of_found);
      for (int64_t i = threadIdx.x; i < n; i += blockDim.x) StoreElement(output, dtype, unit * n + i, of_found[i]);
    }
  }
};

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
