// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/matrix_cuda.h"
#include "ops/solve_triangular/solve_triangular_kernel.h"

namespace repdl::cuda {

/// What right sides have in scratch memory, n numbers each: what is left of them, and the unknowns that are found.
template <class Number>
struct SolveCall {
  SolveTriangularArgs args;
  Number *left, *found;
};

/// A right side by each block.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) SolveKernel(const __grid_constant__ SolveCall<Number> call) {
  const SolveTriangularArgs& args = call.args;
  const int64_t n = args.n;
  for (int64_t unit = blockIdx.x; unit < args.batch * args.m; unit += gridDim.x) {
    int64_t matrix = unit;
    const int64_t row = scalar::TakeRemainder(matrix, args.m);
    Number *const left = call.left + unit * n, *const found = call.found + unit * n;
    const auto at = [&](int64_t i, int64_t k) { return ElementOf<Number>(args.input, matrix, i, k); };
    const auto adjoint_at = [&](int64_t i, int64_t k) { return Conjugate(at(k, i)); };
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) left[i] = ElementOf<Number>(args.rows, matrix, row, i);
    Substitute(n, args.upper, args.unit, at, left, found);
    if (args.by_adjoint) {
      for (int64_t i = threadIdx.x; i < n; i += blockDim.x) left[i] = found[i];
      Substitute(n, !args.upper, args.unit, adjoint_at, left, found);
    }
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      StoreElement(args.output, args.rows.dtype, unit * n + i, found[i]);
    }
  }
}

template <class Number>
static void Run(const Place& place, const SolveTriangularArgs& args) {
  OpScratch scratch(place);
  const int64_t sides = args.batch * args.m, count = sides * args.n;
  const SolveCall<Number> call{args, scratch.Get<Number>(count), scratch.Get<Number>(count)};
  Launch(place, GridOfSides(sides, args.n), &SolveKernel<Number>, call);
}

REPDL_CUDA_KERNEL(SolveTriangularKernel, SolveTriangularArgs) {
  args.pairs ? Run<Complex>(place, args) : Run<double>(place, args);
}

}  // namespace repdl::cuda
