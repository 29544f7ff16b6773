// SPDX-License-Identifier: MIT
// What eigenvalues and singular values share on CUDA: a block for each matrix.
#pragma once

#include "base/op_scratch.h"
#include "drivers/reflections_cuda.h"

namespace repdl::scalar {

#include "drivers/spectral.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// Blocks, of which each has scratch memory of its own.
inline constexpr int64_t kMaxSpectralBlocks = 512;

inline int64_t SpectralBlocks(int64_t batch) { return std::min(batch, kMaxSpectralBlocks); }

/// Memory for rotations, of which each block has its part.
inline scalar::Rotations NewRotations(OpScratch& scratch, int64_t blocks, int64_t n) {
  const int64_t capacity = scalar::Rotations::CapacityFor(n);
  return {capacity, scratch.Get<double>(2 * capacity * blocks), scratch.Get<int64_t>(2 * capacity * blocks), 0, 0};
}

/// Those of this block.
__device__ __forceinline__ scalar::Rotations OfBlock(scalar::Rotations rotations) {
  if (rotations.angles == nullptr) return rotations;
  rotations.angles += 2 * rotations.capacity * blockIdx.x;
  rotations.sweeps += 2 * rotations.capacity * blockIdx.x;
  return rotations;
}

/// What the threads of a block share.
template <class Number>
struct SpectralShared {
  int64_t tops[kThreadsPerBlock];
  scalar::Head<Number> head;
  scalar::Search search;
  scalar::Rotations rotations[2];
  double share;
  bool done;

  /// The scale of all numbers, from the largest bits that each thread has seen.
  __device__ __forceinline__ scalar::Scale ScaleOf(int64_t top) {
    tops[threadIdx.x] = top;
    __syncthreads();
    for (int other = 0; other < static_cast<int>(blockDim.x); ++other) top = tops[other] > top ? tops[other] : top;
    return scalar::Scale::Of(top);
  }
};

/// The rows of a unitary matrix n x n: number i of row r at i * n + r.
template <class Number>
struct UnitaryRows {
  int64_t n;
  Number* numbers;

  /// The identity, and then the numbers of each row from `shift` on by `count` reflections: v(j, i) is number i of
  /// reflection j. A thread has some rows.
  template <class V>
  __device__ __forceinline__ void Begin(const V& v, const Number* tau, int64_t count, int64_t shift) const {
    for (int64_t r = threadIdx.x; r < n; r += blockDim.x) {
      for (int64_t i = 0; i < n; ++i) SetNumber(numbers[i * n + r], i == r ? 1.0 : 0.0);
      for (int64_t j = 0; j < count; ++j) {
        Reflect(
            j, n - shift, Conjugate(tau[j]), [&](int64_t i) { return v(j, i); },
            [&](int64_t i) -> Number& { return numbers[(i + shift) * n + r]; });
      }
    }
  }
  __device__ __forceinline__ void Rotate(const scalar::Rotations& rotations) const {
    for (int64_t r = threadIdx.x; r < n; r += blockDim.x) {
      const double* angle = rotations.angles;
      for (int64_t sweep = 0; sweep < rotations.num_sweeps; ++sweep) {
        Number* x = numbers + rotations.sweeps[2 * sweep] * n + r;
        for (int64_t i = 0; i < rotations.sweeps[2 * sweep + 1]; ++i, angle += 2, x += n) {
          RotateNumbers(angle[0], angle[1], x[0], x[n]);
        }
      }
    }
  }
  __device__ __forceinline__ Number At(int64_t r, int64_t column) const { return numbers[column * n + r]; }

 private:
  REPDL_LANE static void RotateNumbers(double c, double s, double& x, double& y) { scalar::RotatePair(c, s, x, y); }
  REPDL_LANE static void RotateNumbers(double c, double s, Complex& x, Complex& y) {
    scalar::RotatePair(c, s, x.re, y.re);
    scalar::RotatePair(c, s, x.im, y.im);
  }
};

/// order[place] is the number of the value that comes there; is_before(i, j) whether value i does before j. It ends with a
/// barrier.
template <class IsBefore>
__device__ __forceinline__ void PutInOrder(int64_t n, const IsBefore& is_before, int64_t* order) {
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    int64_t place = 0;
    for (int64_t j = 0; j < n; ++j) place += is_before(j, i) || (j < i && !is_before(i, j)) ? 1 : 0;
    order[place] = i;
  }
  __syncthreads();
}

REPDL_LANE double NaN() {
  const double infinity = scalar::Inf(scalar::Tag<double>());
  return scalar::Sub(infinity, infinity);
}

/// Fills results with NaNs, by the threads of a block.
template <class Number>
__device__ __forceinline__ void FillWithNaN(void* to, DType dtype, int64_t begin, int64_t count) {
  Number number;
  SetNumber(number, NaN());
  if constexpr (sizeof(Number) == sizeof(Complex)) number.im = NaN();
  for (int64_t at = threadIdx.x; at < count; at += blockDim.x) StoreElement(to, dtype, begin + at, number);
}

}  // namespace repdl::cuda
