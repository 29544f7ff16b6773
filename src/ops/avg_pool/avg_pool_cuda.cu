// SPDX-License-Identifier: MIT
#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"
#include "ops/avg_pool/avg_pool_kernel.h"

namespace repdl::cuda {

/// What a window counts.
template <class T>
REPDL_LANE T DivisorOf(const AvgPoolArgs<T>& args, int64_t row, int64_t column) {
  return args.divisor == 0 ? scalar::Mul(args.row_counts[row], args.column_counts[column]) : args.divisor;
}

/// The gradients of windows, each divided by what it counts.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) QuotientsKernel(const __grid_constant__ AvgPoolArgs<T> args) {
  const int64_t count = args.planes * args.rows.size * args.columns.size * args.inner;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += num_threads) {
    int64_t rest = i;
    scalar::TakeRemainder(rest, args.inner);
    const int64_t column = scalar::TakeRemainder(rest, args.columns.size);
    const int64_t row = scalar::TakeRemainder(rest, args.rows.size);
    args.quotients[i] = scalar::Div(args.input[i], DivisorOf(args, row, column));
  }
}

/// A result by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) AvgPoolSumsKernel(const __grid_constant__ AvgPoolArgs<T> args) {
  const WeightedSums<T>&rows = args.rows, &columns = args.columns;
  const int64_t count = args.planes * rows.count * columns.count * args.inner;
  const T* const input = args.gradient ? args.quotients : args.input;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += num_threads) {
    int64_t plane = i;
    const int64_t at = scalar::TakeRemainder(plane, args.inner), column = scalar::TakeRemainder(plane, columns.count);
    const int64_t row = scalar::TakeRemainder(plane, rows.count);
    T sum = 0;
    for (int64_t r = rows.starts[row]; r < rows.starts[row + 1]; ++r) {
      const T* const from = input + (plane * rows.size + rows.indices[r]) * columns.size * args.inner + at;
      for (int64_t c = columns.starts[column]; c < columns.starts[column + 1]; ++c) {
        sum = scalar::Add(sum, from[columns.indices[c] * args.inner]);
      }
    }
    args.output[i] = args.gradient ? sum : scalar::Div(sum, DivisorOf(args, row, column));
  }
}

template <class T>
static void Run(const Place& place, const AvgPoolArgs<T>& args) {
  const int64_t windows = args.planes * args.rows.size * args.columns.size * args.inner;
  if (args.gradient && windows > 0) Launch(place, windows, &QuotientsKernel<T>, args);
  Launch(place, args.planes * args.rows.count * args.columns.count * args.inner, &AvgPoolSumsKernel<T>, args);
}

REPDL_CUDA_KERNEL(AvgPoolKernel, AvgPoolArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(AvgPoolKernel, AvgPoolArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
