// SPDX-License-Identifier: MIT
#include <utility>

#include "base/op_scratch.h"
#include "drivers/matrix_cuda.h"
#include "ops/matrix_exp/matrix_exp_kernel.h"

namespace repdl::scalar {

#include "ops/matrix_exp/matrix_exp.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// Matrices of n x n numbers that each matrix has in scratch memory: its powers, a sum and a product.
static constexpr int kRooms = scalar::kPowers + 2;

struct MatrixExpCall {
  MatrixExpArgs args;
  double* rooms;
};

/// A number of each power.
struct NumberOfPowers {
  const double* first;
  int64_t step;

  __host__ __device__ __forceinline__ double operator()(int power) const { return first[power * step]; }
};

/// The exponential of a matrix, by the threads of a block.
struct Exponential {
  int64_t n;
  double* rooms;

  __device__ __forceinline__ double* Power(int at) const { return rooms + at * n * n; }
  __device__ __forceinline__ double* Sum() const { return Power(scalar::kPowers); }
  __device__ __forceinline__ double* Product() const { return Power(scalar::kPowers + 1); }

  template <class Body>
  __device__ __forceinline__ void Each(const Body& body) const {
    for (int64_t at = threadIdx.x; at < n * n; at += blockDim.x) body(at);
  }
  /// to = x y, once all numbers of both are there.
  __device__ __forceinline__ void Multiply(const double* x, const double* y, double* to) const {
    __syncthreads();
    Each([&](int64_t at) {
      int64_t i = at;
      const int64_t j = scalar::TakeRemainder(i, n);
      double sum = 0.0;
      for (int64_t k = 0; k < n; ++k) sum = scalar::Fma(x[i * n + k], y[k * n + j], sum);
      to[at] = sum;
    });
  }

  /// The largest sum of a column's sizes, NaN before all, from as many sums as threads.
  __device__ __forceinline__ double Norm(double* sums) const {
    double norm = 0.0;
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
      double sum = 0.0;
      for (int64_t i = 0; i < n; ++i) sum = scalar::Add(sum, scalar::Abs(Power(0)[i * n + j]));
      norm = scalar::Maximum(norm, sum);
    }
    __syncthreads();  // the sums of the matrix before have been read
    sums[threadIdx.x] = norm;
    __syncthreads();
    for (int thread = 0; thread < static_cast<int>(blockDim.x); ++thread) norm = scalar::Maximum(norm, sums[thread]);
    return norm;
  }

  /// Of Power(0) / 2^doublings, which is changed; where the result is.
  __device__ __forceinline__ const double* Run(int64_t doublings) const {
    const double scale = scalar::Mul(PowerOf2(-(doublings / 2)), PowerOf2(-(doublings - doublings / 2)));
    double* const b = Power(0);
    Each([&](int64_t at) { b[at] = scalar::Mul(b[at], scale); });
    Multiply(b, b, Power(1));
    Multiply(Power(1), b, Power(2));
    Multiply(Power(1), Power(1), Power(3));
    Multiply(Power(2), Power(1), Power(4));
    for (int group = scalar::kGroups - 1; group >= 0; --group) {
      const bool is_last = group == scalar::kGroups - 1;
      if (!is_last) Multiply(Power(scalar::kPowers - 1), Sum(), Product());
      __syncthreads();
      const double* const factors = scalar::ExponentialFactors() + group * scalar::kPowers;
      Each([&](int64_t at) {
        const NumberOfPowers powers{rooms + at, n * n};
        const double terms = scalar::TermsOfGroup(scalar::Tag<double>(), factors, powers);
        Sum()[at] = is_last ? terms : scalar::Add(terms, Product()[at]);
      });
    }
    Each([&](int64_t at) {
      if (at % (n + 1) == 0) Sum()[at] = scalar::Add(1.0, Sum()[at]);
    });
    double *x = Sum(), *y = Product();
    for (int64_t k = 0; k < doublings; ++k) {
      Multiply(x, x, y);
      double* const other = x;
      x = y, y = other;
    }
    return x;
  }

 private:
  /// 2^k, k from -1022 on.
  __device__ __forceinline__ static double PowerOf2(int64_t k) {
    return scalar::BitCast(scalar::Tag<double>(), (1023 + k) << 52);
  }
};

/// A block for each matrix.
__global__ void __launch_bounds__(kThreadsPerBlock) MatrixExpOfBlocks(const __grid_constant__ MatrixExpCall call) {
  const MatrixExpArgs& args = call.args;
  const int64_t n = args.n;
  for (int64_t matrix = blockIdx.x; matrix < args.batch; matrix += gridDim.x) {
    const Exponential exponential{n, call.rooms + matrix * kRooms * n * n};
    exponential.Each([&](int64_t at) {
      int64_t i = at;
      const int64_t j = scalar::TakeRemainder(i, n);
      exponential.Power(0)[at] = ElementOf<double>(args.input, matrix, i, j);
    });
    __syncthreads();
    const double norm = exponential.Norm(SharedMemory<double>()), infinity = scalar::Inf(scalar::Tag<double>());
    const bool is_finite = norm < infinity;
    __syncthreads();  // all have read the matrix
    const double* result = nullptr;
    if (is_finite) {
      const int64_t exponent = (scalar::BitCast(scalar::Tag<int64_t>(), norm) >> 52) - 1022;
      result = exponential.Run(exponent < 0 ? 0 : exponent);
    }
    __syncthreads();
    exponential.Each([&](int64_t at) {
      // No zero is -0.
      const double number = is_finite ? scalar::Add(result[at], 0.0) : scalar::Sub(infinity, infinity);
      StoreElement(args.output, args.input.dtype, matrix * n * n + at, number);
    });
  }
}

REPDL_CUDA_KERNEL(MatrixExpKernel, MatrixExpArgs) {
  OpScratch scratch(place);
  const MatrixExpCall call{args, scratch.Get<double>(args.batch * kRooms * args.n * args.n)};
  const Grid grid{std::min(args.batch, kMaxBlocks), kThreadsPerBlock, kThreadsPerBlock * sizeof(double)};
  Launch(place, grid, &MatrixExpOfBlocks, call);
}

}  // namespace repdl::cuda
