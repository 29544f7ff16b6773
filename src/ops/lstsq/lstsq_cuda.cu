// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/reflections_cuda.h"
#include "ops/lstsq/lstsq_kernel.h"

namespace repdl::cuda {

/// What each matrix has in scratch memory.
template <class Number>
struct LstsqCall {
  LstsqArgs args;
  bool has_qr;                  // else m < n, and only that of the transpose is needed
  Number *a, *tau;              // m x n, and a factor for each reflection
  Number *across, *tau_across;  // n x rank
  double *sums, *scales;        // n
  int64_t* order;               // n
  Number* sides;                // number i of right side r at i * num_rows + r, as many as the longer of m and n
};

/// One of the batch.
template <class Number>
struct LeastSquares {
  const LstsqCall<Number>& call;
  int64_t matrix, m, n, steps;

  REPDL_LANE LeastSquares(const LstsqCall<Number>& call, int64_t matrix)
      : call(call), matrix(matrix), m(call.args.m), n(call.args.n), steps(m < n ? m : n) {}

  REPDL_LANE Number& At(int64_t i, int64_t j) const { return call.a[(matrix * m + i) * n + j]; }
  REPDL_LANE const Number* Tau() const { return call.tau + matrix * steps; }
  /// Of the matrix n x rank.
  REPDL_LANE Number* Across() const { return call.across + matrix * n * steps; }
  REPDL_LANE const Number* TauAcross() const { return call.tau_across + matrix * steps; }
  REPDL_LANE const int64_t* Order() const { return call.order + matrix * n; }

  /// By the threads of a block.
  __device__ __forceinline__ void Factorize(scalar::Head<Number>* shared) const {
    const LstsqArgs& args = call.args;
    double *const sums = call.sums + matrix * n, *const scales = call.scales + matrix * n;
    const Qr<Number> qr{
        m, n, call.a + matrix * m * n, call.tau + matrix * steps, 0.0, sums, scales, call.order + matrix * n, shared};
    qr.Load([&](int64_t i, int64_t j) { return ElementOf<Number>(args.input, matrix, i, j); });
    call.has_qr ? qr.Run(args.pivot) : __syncthreads();
    const int64_t rank = args.pivot ? RankOfQr() : steps;
    if (threadIdx.x == 0) args.ranks[matrix] = rank;
    if (rank == n || rank == 0) return;
    const Qr<Number> across{n, rank, Across(), call.tau_across + matrix * steps, 0.0, sums, scales, nullptr, shared};
    across.Load([&](int64_t i, int64_t j) { return call.has_qr && i < j ? Number{} : Conjugate(At(j, i)); });
    across.Run(false);
  }

  /// The solution for a right side, by one thread: x(i).
  template <class X>
  REPDL_LANE void Solve(const X& x) const {
    const int64_t rank = call.args.ranks[matrix];
    for (int64_t j = 0; j < steps && call.has_qr; ++j) {
      Reflect(j, m, Conjugate(Tau()[j]), [&](int64_t i) { return At(i, j); }, x);
    }
    if (rank == n) {
      for (int64_t k = n - 1; k >= 0; --k) {
        x(k) = Quotient(x(k), At(k, k));
        for (int64_t i = 0; i < k; ++i) x(i) = Less(x(i), At(i, k), x(k));
      }
      return;
    }
    const Number* const across = Across();
    for (int64_t k = 0; k < rank; ++k) {
      x(k) = Quotient(x(k), Conjugate(across[k * rank + k]));
      for (int64_t i = k + 1; i < rank; ++i) x(i) = Less(x(i), Conjugate(across[k * rank + i]), x(k));
    }
    for (int64_t i = rank; i < n; ++i) SetNumber(x(i), 0.0);
    for (int64_t j = rank - 1; j >= 0; --j) {
      Reflect(j, n, TauAcross()[j], [&](int64_t i) { return across[i * rank + j]; }, x);
    }
  }

 private:
  REPDL_LANE double DiagonalSize(int64_t k) const { return scalar::Abs(scalar::RealPart(At(k, k))); }
  REPDL_LANE int64_t RankOfQr() const {
    const double least = scalar::Mul(DiagonalSize(0), call.args.rcond);
    int64_t rank = 0;
    while (rank < steps && DiagonalSize(rank) > least) ++rank;
    return rank;
  }
};

/// A block for each matrix.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) FactorizeKernel(const __grid_constant__ LstsqCall<Number> call) {
  for (int64_t matrix = blockIdx.x; matrix < call.args.batch; matrix += gridDim.x) {
    __syncthreads();  // the matrix before is done
    LeastSquares<Number>(call, matrix).Factorize(SharedMemory<scalar::Head<Number>>());
  }
}

/// A right side by each thread.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) SolveKernel(const __grid_constant__ LstsqCall<Number> call) {
  const LstsqArgs& args = call.args;
  const int64_t rows = args.num_rows, longest = args.m < args.n ? args.n : args.m;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t unit = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; unit < args.batch * rows; unit += num_threads) {
    int64_t matrix = unit;
    const int64_t row = scalar::TakeRemainder(matrix, rows), first = matrix * longest * rows + row;
    const auto x = [&](int64_t i) -> Number& { return call.sides[first + i * rows]; };
    for (int64_t i = 0; i < args.m; ++i) x(i) = ElementOf<Number>(args.rows, matrix, row, i);
    const LeastSquares<Number> found(call, matrix);
    found.Solve(x);
    for (int64_t j = 0; j < args.n; ++j) {
      StoreElement(args.output, args.input.dtype, unit * args.n + found.Order()[j], x(j));
    }
  }
}

template <class Number>
static void Run(const Place& place, const LstsqArgs& args) {
  OpScratch scratch(place);
  const int64_t m = args.m, n = args.n, steps = std::min(m, n), batch = args.batch;
  LstsqCall<Number> call{args,
                         args.pivot || m >= n,
                         scratch.Get<Number>(batch * m * n),
                         scratch.Get<Number>(batch * steps),
                         scratch.Get<Number>(batch * n * steps),
                         scratch.Get<Number>(batch * steps),
                         scratch.Get<double>(batch * n),
                         scratch.Get<double>(batch * n),
                         scratch.Get<int64_t>(batch * n),
                         nullptr};
  const Grid grid{std::min(batch, kMaxBlocks), ThreadsFor(std::max(m, n)), sizeof(scalar::Head<Number>)};
  Launch(place, grid, &FactorizeKernel<Number>, call);
  const int64_t sides = batch * args.num_rows;
  if (sides == 0) return;
  call.sides = scratch.Get<Number>(sides * std::max(m, n));
  Launch(place, sides, &SolveKernel<Number>, call);
}

REPDL_CUDA_KERNEL(LstsqKernel, LstsqArgs) { args.pairs ? Run<Complex>(place, args) : Run<double>(place, args); }

}  // namespace repdl::cuda
