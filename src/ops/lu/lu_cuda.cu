// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/matrix_cuda.h"
#include "drivers/row_cuda.h"
#include "ops/lu/lu_kernel.h"

namespace repdl::scalar {

#include "ops/lu/lu.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// The matrices in scratch memory, a step of theirs, and right sides.
template <class Number>
struct LuCall {
  LuArgs args;
  Number* columns;
  int64_t step;
  Sides<Number> sides;
};

/// One of the batch, as its columns: number i of column j is element (i, j).
template <class Number>
struct Factors {
  const LuArgs& args;
  int64_t matrix;
  Number* columns;

  REPDL_LANE int64_t Steps() const { return args.m < args.n ? args.m : args.n; }
  REPDL_LANE int64_t* Pivots() const { return args.pivots + matrix * Steps(); }
  REPDL_LANE Number& At(int64_t i, int64_t j) const { return columns[j * args.m + i]; }

  REPDL_LANE void Load(const Threads& threads) const {
    for (int64_t at = threads.first; at < args.m * args.n; at += threads.step) {
      int64_t j = at;
      const int64_t i = scalar::TakeRemainder(j, args.m);
      columns[at] =
          args.is_factored ? ElementOf<Number>(args.input, matrix, j, i) : ElementOf<Number>(args.input, matrix, i, j);
    }
    if (threads.first == 0 && args.info != nullptr) args.info[matrix] = 0;
  }

  /// Finds the pivot of a step and exchanges rows, by the threads of a block.
  __device__ __forceinline__ void Exchange(int64_t k, scalar::Largest* candidates) const {
    int64_t pivot = k;
    if (args.pivot) {
      pivot = LargestOfBlock(k, args.m, [&](int64_t i) { return scalar::SizeOf(At(i, k)); }, candidates).place;
    }
    if (threadIdx.x == 0) Pivots()[k] = pivot + 1;
    for (int64_t j = threadIdx.x; j < args.n && pivot != k; j += blockDim.x) {
      const Number number = At(k, j);
      At(k, j) = At(pivot, j), At(pivot, j) = number;
    }
  }
  REPDL_LANE void Divide(int64_t k, const Threads& threads) const {
    const Number by = At(k, k);
    if (scalar::IsZero(by)) {
      if (threads.first == 0 && args.info != nullptr && args.info[matrix] == 0) args.info[matrix] = k + 1;
      return;
    }
    for (int64_t i = k + 1 + threads.first; i < args.m; i += threads.step) At(i, k) = Quotient(At(i, k), by);
  }
  REPDL_LANE void Subtract(int64_t k, const Threads& threads) const {
    const int64_t rows = args.m - k - 1, count = rows * (args.n - k - 1);
    for (int64_t at = threads.first; at < count; at += threads.step) {
      int64_t j = at;
      const int64_t i = k + 1 + scalar::TakeRemainder(j, rows);
      j += k + 1;
      At(i, j) = Less(At(i, j), At(k, j), At(i, k));
    }
  }
  REPDL_LANE void Store(const Threads& threads) const {
    if (args.factors == nullptr) return;
    const int64_t count = args.m * args.n;
    for (int64_t at = threads.first; at < count; at += threads.step) {
      StoreElement(args.factors, args.input.dtype, matrix * count + at, columns[at]);
    }
  }

  /// What is wanted of the diagonal, by one thread.
  REPDL_LANE void Finish() const {
    if (args.sign == nullptr) return;
    const double sign = scalar::SignOf(Pivots(), args.n);
    const auto diagonal = [&](int64_t k) { return At(k, k); };
    const DType dtype = args.input.dtype;
    if (args.det != nullptr) {
      StoreElement(args.det, dtype, matrix, scalar::DeterminantOf(diagonal, args.n, sign));
      StoreDouble(args.sign, dtype, matrix, sign);
    } else {
      const auto result = scalar::SignedLogOf(diagonal, args.n, sign);
      StoreElement(args.sign, dtype, matrix, result.sign);
      StoreDouble(args.logabsdet, dtype, matrix, result.log);
    }
  }
};

template <class Number>
REPDL_LANE Factors<Number> FactorsOf(const LuCall<Number>& call, int64_t matrix) {
  return {call.args, matrix, call.columns + matrix * call.args.m * call.args.n};
}

/// A block for each matrix.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) FactorizeKernel(const __grid_constant__ LuCall<Number> call) {
  const LuArgs& args = call.args;
  const Threads threads{threadIdx.x, blockDim.x};
  for (int64_t matrix = blockIdx.x; matrix < args.batch; matrix += gridDim.x) {
    const Factors<Number> factors = FactorsOf(call, matrix);
    factors.Load(threads);
    for (int64_t k = 0; k < factors.Steps() && !args.is_factored; ++k) {
      __syncthreads();  // the steps before have been taken from all
      factors.Exchange(k, SharedMemory<scalar::Largest>());
      __syncthreads();
      factors.Divide(k, threads);
      __syncthreads();
      factors.Subtract(k, threads);
    }
    __syncthreads();
    factors.Store(threads);
    if (threadIdx.x == 0) factors.Finish();
  }
}

template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) SolveKernel(const __grid_constant__ LuCall<Number> call) {
  const LuArgs& args = call.args;
  const int64_t n = args.n;
  call.sides.ForEach([&](int64_t matrix, Number* left, Number* found) {
    const Factors<Number> factors = FactorsOf(call, matrix);
    const auto at = [&](int64_t i, int64_t k) { return factors.At(i, k); };
    const auto transposed_at = [&](int64_t i, int64_t k) { return factors.At(k, i); };
    // By one thread, in the order of the steps.
    const auto exchange = [&](Number* numbers, bool back) {
      __syncthreads();
      for (int64_t step = 0; threadIdx.x == 0 && step < n; ++step) {
        const int64_t k = back ? n - 1 - step : step, other = CheckedIndex(factors.Pivots()[k], n + 1) - 1;
        if (other < 0 || other == k) continue;
        const Number number = numbers[k];
        numbers[k] = numbers[other], numbers[other] = number;
      }
      __syncthreads();
    };
    if (!args.adjoint) exchange(left, false);
    if (args.adjoint) {
      Substitute(n, false, false, transposed_at, left, found);
    } else {
      Substitute(n, false, true, at, left, found);
    }
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) left[i] = found[i];
    if (args.adjoint) {
      Substitute(n, true, true, transposed_at, left, found);
    } else {
      Substitute(n, true, false, at, left, found);
    }
    if (args.adjoint) exchange(found, true);
  });
}

/// Step `step` of each matrix, by a block for each.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) ExchangeKernel(const __grid_constant__ LuCall<Number> call) {
  for (int64_t matrix = blockIdx.x; matrix < call.args.batch; matrix += gridDim.x) {
    FactorsOf(call, matrix).Exchange(call.step, SharedMemory<scalar::Largest>());
    __syncthreads();
  }
}

/// A part of a step of one large matrix after the other, by all threads: Part()(factors, step, threads).
template <class Number, class Part>
__global__ void __launch_bounds__(kThreadsPerBlock) PartKernel(const __grid_constant__ LuCall<Number> call) {
  const Threads threads{int64_t{blockIdx.x} * blockDim.x + threadIdx.x, int64_t{gridDim.x} * blockDim.x};
  for (int64_t matrix = 0; matrix < call.args.batch; ++matrix) Part()(FactorsOf(call, matrix), call.step, threads);
}

struct LoadPart {
  template <class F>
  REPDL_LANE void operator()(const F& factors, int64_t, const Threads& threads) const {
    factors.Load(threads);
  }
};
struct DividePart {
  template <class F>
  REPDL_LANE void operator()(const F& factors, int64_t step, const Threads& threads) const {
    factors.Divide(step, threads);
  }
};
struct SubtractPart {
  template <class F>
  REPDL_LANE void operator()(const F& factors, int64_t step, const Threads& threads) const {
    factors.Subtract(step, threads);
  }
};
struct StorePart {
  template <class F>
  REPDL_LANE void operator()(const F& factors, int64_t, const Threads& threads) const {
    factors.Store(threads);
    if (threads.first == 0) factors.Finish();
  }
};

/// Fewer matrices than this leave most of a device idle if a block factorizes each; of this size that costs more than
/// launches for each step.
static constexpr int64_t kFewMatrices = 16, kLargeMatrix = 128;
/// Numbers that a thread takes terms from.
static constexpr int64_t kPerThread = 16;

template <class Number>
static void Run(const Place& place, LuArgs args) {
  OpScratch scratch(place);
  const int64_t m = args.m, n = args.n, steps = std::min(m, n);
  if (args.pivots == nullptr) args.pivots = scratch.Get<int64_t>(args.batch * steps);
  LuCall<Number> call{args, scratch.Get<Number>(args.batch * m * n), 0, {}};
  const size_t shared = kCandidates * sizeof(scalar::Largest);
  const Grid of_matrices{std::min(args.batch, kMaxBlocks), ThreadsFor(std::max(m, n)), shared};
  if (args.batch >= kFewMatrices || steps < kLargeMatrix) {
    Launch(place, of_matrices, &FactorizeKernel<Number>, call);
  } else {
    Launch(place, m * n, &PartKernel<Number, LoadPart>, call);
    for (; call.step < steps && !args.is_factored; ++call.step) {
      const int64_t left = (m - call.step - 1) * (n - call.step - 1);
      Launch(place, of_matrices, &ExchangeKernel<Number>, call);
      Launch(place, m - call.step, &PartKernel<Number, DividePart>, call);
      if (left > 0) Launch(place, (left + kPerThread - 1) / kPerThread, &PartKernel<Number, SubtractPart>, call);
    }
    Launch(place, m * n, &PartKernel<Number, StorePart>, call);
  }
  const int64_t count = args.batch * args.num_rows * n;
  if (args.output == nullptr || count == 0) return;
  call.sides = {args.batch,
                args.num_rows,
                n,
                args.rows,
                args.input.dtype,
                args.output,
                scratch.Get<Number>(count),
                scratch.Get<Number>(count)};
  Launch(place, call.sides.GridOfSides(), &SolveKernel<Number>, call);
}

REPDL_CUDA_KERNEL(LuKernel, LuArgs) { args.pairs ? Run<Complex>(place, args) : Run<double>(place, args); }

}  // namespace repdl::cuda
