// SPDX-License-Identifier: MIT
#include "base/cuda_launch.h"
#include "drivers/map_cuda_thread.h"
#include "ops/fold/fold_kernel.h"

namespace repdl::cuda {

/// sum + what a run of a row, whose numbers are `inner` apart, has for one place of the result.
template <class T>
REPDL_LANE T AddRun(const FoldRun& run, const T* row, int64_t inner, int64_t place, T sum) {
  const int64_t away = place - run.to;
  if (run.step == 0) {
    for (int64_t i = 0; away == 0 && i < run.count; ++i) sum = scalar::Add(sum, row[(run.from + i) * inner]);
    return sum;
  }
  const int64_t i = away / run.step;
  return i < 0 || i >= run.count || i * run.step != away ? sum : scalar::Add(sum, row[(run.from + i) * inner]);
}

/// A result by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) FoldPlacesKernel(const __grid_constant__ FoldArgs<T> args) {
  const int64_t count = args.planes * args.out_rows * args.out_width * args.inner;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t plane = at;
    const int64_t inner = scalar::TakeRemainder(plane, args.inner),
                  place = scalar::TakeRemainder(plane, args.out_width);
    const int64_t row = scalar::TakeRemainder(plane, args.out_rows);
    T sum = 0;
    for (int64_t t = args.starts[row]; t < args.starts[row + 1]; ++t) {
      const FoldTerm& term = args.terms[t];
      const T* const from = args.input + (plane * args.in_rows + term.row) * args.in_width * args.inner + inner;
      for (int64_t r = term.first_run; r < term.end_run; ++r) sum = AddRun(args.runs[r], from, args.inner, place, sum);
    }
    args.output[at] = sum;
  }
}

template <class T>
static void Run(const Place& place, const FoldArgs<T>& args) {
  Launch(place, args.planes * args.out_rows * args.out_width * args.inner, &FoldPlacesKernel<T>, args);
}

REPDL_CUDA_KERNEL(FoldKernel, FoldArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(FoldKernel, FoldArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
