// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/matrix_cuda.h"
#include "ops/solve_triangular/solve_triangular_kernel.h"

namespace repdl::cuda {

template <class Number>
struct SolveCall {
  SolveTriangularArgs args;
  Sides<Number> sides;
};

template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) SolveKernel(const __grid_constant__ SolveCall<Number> call) {
  const SolveTriangularArgs& args = call.args;
  const int64_t n = args.n;
  call.sides.ForEach([&](int64_t matrix, Number* left, Number* found) {
    const auto at = [&](int64_t i, int64_t k) { return ElementOf<Number>(args.input, matrix, i, k); };
    const auto adjoint_at = [&](int64_t i, int64_t k) { return Conjugate(at(k, i)); };
    Substitute(n, args.upper, args.unit, at, left, found);
    if (!args.by_adjoint) return;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) left[i] = found[i];
    Substitute(n, !args.upper, args.unit, adjoint_at, left, found);
  });
}

template <class Number>
static void Run(const Place& place, const SolveTriangularArgs& args) {
  OpScratch scratch(place);
  const int64_t count = args.batch * args.m * args.n;
  const SolveCall<Number> call{args,
                               {args.batch, args.m, args.n, args.rows, args.rows.dtype, args.output,
                                scratch.Get<Number>(count), scratch.Get<Number>(count)}};
  Launch(place, call.sides.GridOfSides(), &SolveKernel<Number>, call);
}

REPDL_CUDA_KERNEL(SolveTriangularKernel, SolveTriangularArgs) {
  args.pairs ? Run<Complex>(place, args) : Run<double>(place, args);
}

}  // namespace repdl::cuda
