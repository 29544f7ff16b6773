// SPDX-License-Identifier: MIT
#include "base/cuda_launch.h"
#include "drivers/row_cuda_thread.h"
#include "drivers/row_functions_cuda.h"
#include "numerics/complex_scalar.h"
#include "ops/cumulative/cumulative_kernel.h"

namespace repdl::scalar {

#include "ops/cumulative/cumulative.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

using scalar::Tag;

struct SumOfLine {
  double total = 0;
  REPDL_ROW double Take(double x) { return total = scalar::Add(total, x); }
};
struct ProductOfLine {
  double total = 1;
  REPDL_ROW double Take(double x) { return total = scalar::Mul(total, x); }
};
struct LogSumExpOfLine {
  double largest = scalar::Neg(scalar::Inf(Tag<double>())), rest = 0;
  REPDL_ROW double Take(double x) { return scalar::LogSumExpStep(Tag<double>(), x, largest, rest); }
};

/// A line by each thread: each step rounds what the step before gave.
template <class Line, class T>
__global__ void __launch_bounds__(kThreadsPerBlock) LinesKernel(const __grid_constant__ CumulativeArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.outer * args.inner; i += num_threads) {
    int64_t outer = i;
    const int64_t column = scalar::TakeRemainder(outer, args.inner), first = outer * args.n * args.inner + column;
    Line line;
    for (int64_t k = 0; k < args.n; ++k) {
      const int64_t at = first + k * args.inner;
      args.output[at] = static_cast<T>(line.Take(static_cast<double>(args.x[at])));
    }
  }
}

/// The same of complex numbers.
template <class State, class T>
__global__ void __launch_bounds__(kThreadsPerBlock) PairLinesKernel(const __grid_constant__ CumulativeArgs<T> args) {
  const Tag<double> d;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.outer * args.inner; i += num_threads) {
    int64_t outer = i;
    const int64_t column = scalar::TakeRemainder(outer, args.inner), first = outer * args.n * args.inner + column;
    State state(d);
    for (int64_t k = 0; k < args.n; ++k) {
      const int64_t at = 2 * (first + k * args.inner);
      double real = static_cast<double>(args.x[at]), imaginary = static_cast<double>(args.x[at + 1]);
      state.Take(d, k == 0, real, imaginary);
      args.output[at] = static_cast<T>(real), args.output[at + 1] = static_cast<T>(imaginary);
    }
  }
}

template <class T>
static void Run(const Place& place, const CumulativeArgs<T>& args) {
  const auto launch = [&](void (*kernel)(CumulativeArgs<T>)) { Launch(place, args.outer * args.inner, kernel, args); };
  switch (args.op) {
    case Cumulative::kSum: return launch(&LinesKernel<SumOfLine, T>);
    case Cumulative::kProduct: return launch(&LinesKernel<ProductOfLine, T>);
    case Cumulative::kLogSumExp: return launch(&LinesKernel<LogSumExpOfLine, T>);
    case Cumulative::kComplexProduct: return launch(&PairLinesKernel<scalar::ComplexProductState<double>, T>);
    case Cumulative::kComplexLogSumExp: return launch(&PairLinesKernel<scalar::ComplexLogSumExpState<double>, T>);
  }
}

REPDL_CUDA_KERNEL(CumulativeKernel, CumulativeArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(CumulativeKernel, CumulativeArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
