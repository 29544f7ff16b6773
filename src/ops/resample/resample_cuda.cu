// SPDX-License-Identifier: MIT
#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"
#include "ops/resample/resample_kernel.h"

namespace repdl::cuda {

/// Sum j of the numbers at(index).
template <class T, class At>
REPDL_LANE T SumOf(const WeightedSums<T>& sums, int64_t j, const At& at) {
  const int64_t begin = sums.starts[j], end = sums.starts[j + 1];
  T sum = begin == end ? T{0} : sums.start;
  for (int64_t t = begin; t < end; ++t) {
    sum = scalar::Add(sum, scalar::Mul(at(sums.indices[t]), sums.weights[t]));
  }
  return sum;
}

/// A result by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) ResamplePlacesKernel(const __grid_constant__ ResampleArgs<T> args) {
  const int64_t count = args.planes * args.out_rows * args.out_columns * args.inner;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += num_threads) {
    int64_t plane = i;
    const int64_t inner = scalar::TakeRemainder(plane, args.inner);
    const int64_t column = scalar::TakeRemainder(plane, args.out_columns);
    const int64_t row = scalar::TakeRemainder(plane, args.out_rows);
    const auto number = [&](int64_t r, int64_t c) {
      return args.input[((plane * args.in_rows + r) * args.in_columns + c) * args.inner + inner];
    };
    const auto along_row = [&](int64_t r) {
      return args.columns ? SumOf(args.columns, column, [&](int64_t c) { return number(r, c); }) : number(r, column);
    };
    const auto along_column = [&](int64_t c) {
      return args.rows ? SumOf(args.rows, row, [&](int64_t r) { return number(r, c); }) : number(row, c);
    };
    if (args.rows_first && args.columns) {
      args.output[i] = SumOf(args.columns, column, along_column);
    } else {
      args.output[i] = args.rows ? SumOf(args.rows, row, along_row) : along_row(row);
    }
  }
}

template <class T>
static void Run(const Place& place, const ResampleArgs<T>& args) {
  Launch(place, args.planes * args.out_rows * args.out_columns * args.inner, &ResamplePlacesKernel<T>, args);
}

REPDL_CUDA_KERNEL(ResampleKernel, ResampleArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(ResampleKernel, ResampleArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
