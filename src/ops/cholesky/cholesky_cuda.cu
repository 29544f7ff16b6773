// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/matrix_cuda.h"
#include "ops/cholesky/cholesky_kernel.h"

namespace repdl::cuda {

/// The matrices in scratch memory, rows of n numbers, and a row of U that is being made.
template <class Number>
struct CholeskyCall {
  CholeskyArgs args;
  Number* u;
  int64_t row;
};

/// One of the batch.
template <class Number>
struct Factorization {
  const CholeskyArgs& args;
  int64_t matrix;
  Number* u;

  REPDL_LANE Number* Row(int64_t i) const { return u + i * args.n; }

  REPDL_LANE void Load(const Threads& threads) const {
    for (int64_t at = threads.first; at < args.n * args.n; at += threads.step) {
      int64_t j = at;
      const int64_t i = scalar::TakeRemainder(j, args.n);
      if (i >= j) u[at] = ElementOf<Number>(args.input, matrix, i, j);
    }
  }
  /// Row j behind its diagonal, by the root of that.
  REPDL_LANE void Divide(int64_t j, const Threads& threads) const {
    const double root = scalar::Sqrt(scalar::RealPart(Row(j)[j]));
    for (int64_t i = j + 1 + threads.first; i < args.n; i += threads.step) Row(j)[i] = Quotient(Row(j)[i], root);
  }
  /// Takes the terms of row j from the rows behind, when it is divided. Then nobody needs its diagonal.
  REPDL_LANE void Subtract(int64_t j, const Threads& threads) const {
    const int64_t left = args.n - j - 1;
    const Number* const row = Row(j);
    for (int64_t at = threads.first; at < left * left; at += threads.step) {
      int64_t i = at;
      const int64_t c = j + 1 + scalar::TakeRemainder(i, left);
      i += j + 1;
      if (c >= i) Row(i)[c] = Less(Row(i)[c], Conjugate(row[i]), row[c]);
    }
    if (threads.first != 0) return;
    const double d = scalar::RealPart(row[j]);
    if (j == 0 || args.info[matrix] == 0) args.info[matrix] = d > 0.0 ? 0 : j + 1;
    SetNumber(Row(j)[j], scalar::Sqrt(d));
  }
  REPDL_LANE void Store(const Threads& threads) const {
    for (int64_t at = threads.first; at < args.n * args.n; at += threads.step) {
      int64_t j = at;
      const int64_t i = scalar::TakeRemainder(j, args.n);
      Number number{};
      if (i >= j) number = u[at];
      StoreElement(args.output, args.input.dtype, matrix * args.n * args.n + at, number);
    }
  }
};

/// A block for each matrix.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) FactorizeKernel(const __grid_constant__ CholeskyCall<Number> call) {
  const CholeskyArgs& args = call.args;
  const Threads threads{threadIdx.x, blockDim.x};
  for (int64_t matrix = blockIdx.x; matrix < args.batch; matrix += gridDim.x) {
    const Factorization<Number> factorization{args, matrix, call.u + matrix * args.n * args.n};
    factorization.Load(threads);
    for (int64_t j = 0; j < args.n; ++j) {
      __syncthreads();  // the rows before have been taken from all
      factorization.Divide(j, threads);
      __syncthreads();
      factorization.Subtract(j, threads);
    }
    __syncthreads();
    factorization.Store(threads);
  }
}

/// A step of one large matrix after the other, by all threads: Step()(factorization, row, threads).
template <class Number, class Step>
__global__ void __launch_bounds__(kThreadsPerBlock) StepKernel(const __grid_constant__ CholeskyCall<Number> call) {
  const CholeskyArgs& args = call.args;
  const Threads threads{int64_t{blockIdx.x} * blockDim.x + threadIdx.x, int64_t{gridDim.x} * blockDim.x};
  for (int64_t matrix = 0; matrix < args.batch; ++matrix) {
    Step()(Factorization<Number>{args, matrix, call.u + matrix * args.n * args.n}, call.row, threads);
  }
}

struct LoadStep {
  template <class F>
  REPDL_LANE void operator()(const F& factorization, int64_t, const Threads& threads) const {
    factorization.Load(threads);
  }
};
struct DivideStep {
  template <class F>
  REPDL_LANE void operator()(const F& factorization, int64_t row, const Threads& threads) const {
    factorization.Divide(row, threads);
  }
};
struct SubtractStep {
  template <class F>
  REPDL_LANE void operator()(const F& factorization, int64_t row, const Threads& threads) const {
    factorization.Subtract(row, threads);
  }
};
struct StoreStep {
  template <class F>
  REPDL_LANE void operator()(const F& factorization, int64_t, const Threads& threads) const {
    factorization.Store(threads);
  }
};

/// Fewer matrices than this leave most of a device idle if a block factorizes each; of this size that costs more than a
/// launch for each step.
static constexpr int64_t kFewMatrices = 16, kLargeMatrix = 128;
/// Numbers that a thread takes terms from.
static constexpr int64_t kPerThread = 16;

template <class Number>
static void Run(const Place& place, const CholeskyArgs& args) {
  OpScratch scratch(place);
  if (args.n == 0) return FillWith(place, args.info, args.batch, int64_t{0});
  CholeskyCall<Number> call{args, scratch.Get<Number>(args.batch * args.n * args.n), 0};
  if (args.batch >= kFewMatrices || args.n < kLargeMatrix) {
    return Launch(place, Grid{std::min(args.batch, kMaxBlocks), ThreadsFor(args.n)}, &FactorizeKernel<Number>, call);
  }
  Launch(place, args.n * args.n, &StepKernel<Number, LoadStep>, call);
  for (; call.row < args.n; ++call.row) {
    const int64_t left = args.n - call.row - 1;
    Launch(place, left + 1, &StepKernel<Number, DivideStep>, call);
    Launch(place, left * left / kPerThread + 1, &StepKernel<Number, SubtractStep>, call);
  }
  Launch(place, args.n * args.n, &StepKernel<Number, StoreStep>, call);
}

REPDL_CUDA_KERNEL(CholeskyKernel, CholeskyArgs) { args.pairs ? Run<Complex>(place, args) : Run<double>(place, args); }

}  // namespace repdl::cuda
