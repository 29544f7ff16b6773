// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/matrix_cuda.h"
#include "drivers/row_cuda.h"
#include "ops/ldl/ldl_kernel.h"

namespace repdl::scalar {

#include "ops/ldl/ldl.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// The triangles in scratch memory: number i of row j is element (i, j).
template <class Number>
struct LdlCall {
  LdlArgs args;
  Number* u;
  Number* columns;  // two of each matrix
  Number* sides;    // number i of right side r at i * num_rows + r
  int64_t* starts;  // of the blocks of two and one, likewise
};

/// One of the batch.
template <class Number>
struct Ldl {
  static constexpr bool kComplex = sizeof(Number) != sizeof(double);

  const LdlArgs& args;
  int64_t matrix, n;
  Number* u;

  REPDL_LANE Number& At(int64_t i, int64_t j) const { return u[j * n + i]; }
  REPDL_LANE Number Turned(const Number& x) const { return args.hermitian ? Conjugate(x) : x; }
  /// The diagonal of a Hermitian matrix is real.
  REPDL_LANE void MakeReal(int64_t j) const {
    if (kComplex && args.hermitian) SetNumber(At(j, j), scalar::RealPart(At(j, j)));
  }
  REPDL_LANE Number OverDiagonal(const Number& x, int64_t k) const {
    return kComplex && args.hermitian ? Quotient(x, scalar::RealPart(At(k, k))) : Quotient(x, At(k, k));
  }

  /// By the threads of a block; `columns` has room for two.
  __device__ __forceinline__ void Factorize(Number* columns, scalar::Largest* candidates) const {
    int64_t* const pivots = args.pivots + matrix * n;
    for (int64_t at = threadIdx.x; at < n * n; at += blockDim.x) {
      int64_t j = at;
      const int64_t i = scalar::TakeRemainder(j, n);
      u[at] = i < j ? Number{} : ElementOf<Number>(args.input, matrix, i, j);
      if (i == j) MakeReal(j);
    }
    int64_t info = 0;
    for (int64_t k = 0; k < n;) {
      __syncthreads();  // the blocks before are done
      const auto diagonal = [&](int64_t i) { return scalar::SizeOf(At(i, i)); };
      const auto below = LargestOfBlock(k + 1, n, [&](int64_t i) { return scalar::SizeOf(At(i, k)); }, candidates);
      const double of_k = diagonal(k), c = k + 1 < n ? below.size : 0.0;
      if ((of_k == 0.0 && c == 0.0) || of_k != of_k) {
        if (info == 0) info = k + 1;
        if (threadIdx.x == 0) pivots[k] = k + 1;
        ++k;
        continue;
      }
      const scalar::Pivot pivot = scalar::PivotOf(k, c, below.place, diagonal, [&](int64_t r) {
        const auto size = [&](int64_t i) { return i == r ? -1.0 : scalar::SizeOf(i < r ? At(r, i) : At(i, r)); };
        return LargestOfBlock(k, n, size, candidates).size;
      });
      const int64_t last = pivot.two ? k + 1 : k;
      __syncthreads();  // all know the pivot
      if (pivot.row != last) Exchange(k, last, pivot.row);
      if (threadIdx.x == 0) {
        pivots[k] = pivot.two ? n + pivot.row + 1 : pivot.row + 1;
        if (pivot.two) pivots[last] = 0;
      }
      __syncthreads();
      pivot.two ? DivideTwo(k, columns) : DivideOne(k, columns);
      __syncthreads();
      Subtract(k, last, columns);
      __syncthreads();  // nobody needs the columns as they were
      for (int64_t i = last + 1 + threadIdx.x; i < n; i += blockDim.x) {
        for (int64_t j = k; j <= last; ++j) At(i, j) = columns[(j - k) * n + i];
      }
      k = last + 1;
    }
    if (threadIdx.x == 0) args.info[matrix] = info;
    // The last step has changed nothing behind its barriers.
    for (int64_t at = threadIdx.x; at < n * n; at += blockDim.x) {
      StoreElement(args.output, args.input.dtype, matrix * n * n + at, u[at]);
    }
  }

  /// The solution for a right side, by one thread: x(i), where starts(i) has room for the places of blocks.
  template <class X, class Starts>
  REPDL_LANE void Solve(const int64_t* pivots, const X& x, const Starts& starts) const {
    int64_t blocks = 0;
    for (int64_t k = 0; k < n;) {
      starts(blocks++) = k;
      const int64_t last = scalar::IsTwo(pivots[k], k, n) ? k + 1 : k;
      Swap(x(last), x(scalar::PartnerOf(pivots[k], last, n)));
      for (int64_t i = last + 1; i < n; ++i) {
        for (int64_t j = k; j <= last; ++j) x(i) = Less(x(i), At(i, j), x(j));
      }
      if (last == k) {
        x(k) = OverDiagonal(x(k), k);
      } else {
        const Number c = At(last, k);
        scalar::SolveBlockOfTwo(At(k, k), c, Turned(c), At(last, last), x(k), x(last));
      }
      k = last + 1;
    }
    while (blocks > 0) {
      const int64_t k = starts(--blocks), last = scalar::IsTwo(pivots[k], k, n) ? k + 1 : k;
      for (int64_t j = last; j >= k; --j) {
        for (int64_t i = last + 1; i < n; ++i) x(j) = Less(x(j), Turned(At(i, j)), x(i));
      }
      Swap(x(last), x(scalar::PartnerOf(pivots[k], last, n)));
    }
  }

 private:
  REPDL_LANE static void Swap(Number& x, Number& y) {
    const Number number = x;
    x = y, y = number;
  }

  /// Rows and columns q and p, of a block that begins in column k, from there on. A number for each turn.
  __device__ __forceinline__ void Exchange(int64_t k, int64_t q, int64_t p) const {
    for (int64_t i = q + threadIdx.x; i < n; i += blockDim.x) {
      if (i > p) {
        Swap(At(i, q), At(i, p));
      } else if (i == q) {
        Swap(At(q, q), At(p, p));
      } else if (i == p) {
        At(p, q) = Turned(At(p, q));
      } else {
        const Number x = Turned(At(i, q));
        At(i, q) = Turned(At(p, i)), At(p, i) = x;
      }
    }
    if (threadIdx.x == 0 && q != k) Swap(At(q, k), At(p, k));
  }

  __device__ __forceinline__ void DivideOne(int64_t k, Number* l) const {
    for (int64_t i = k + 1 + threadIdx.x; i < n; i += blockDim.x) l[i] = OverDiagonal(At(i, k), k);
  }
  __device__ __forceinline__ void DivideTwo(int64_t k, Number* l) const {
    const Number first = At(k, k), b = At(k + 1, k), second = At(k + 1, k + 1);
    if constexpr (kComplex) {
      if (args.hermitian) return Divide(k, scalar::HermitianBlockOfTwo(first, b, second), l);
    }
    Divide(k, scalar::BlockOfTwo<Number>(first, b, second), l);
  }
  template <class Block>
  __device__ __forceinline__ void Divide(int64_t k, const Block& block, Number* l) const {
    for (int64_t i = k + 2 + threadIdx.x; i < n; i += blockDim.x) {
      const Number x = At(i, k), y = At(i, k + 1);
      l[i] = block.FirstOf(x, y), l[n + i] = block.SecondOf(x, y);
    }
  }
  /// The terms of columns k to `last` from those behind.
  __device__ __forceinline__ void Subtract(int64_t k, int64_t last, const Number* l) const {
    const int64_t rest = n - last - 1;
    for (int64_t at = threadIdx.x; at < rest * rest; at += blockDim.x) {
      int64_t j = at;
      const int64_t i = last + 1 + scalar::TakeRemainder(j, rest);
      j += last + 1;
      if (i < j) continue;
      for (int64_t c = k; c <= last; ++c) At(i, j) = Less(At(i, j), Turned(At(j, c)), l[(c - k) * n + i]);
      if (i == j) MakeReal(j);
    }
  }
};

template <class Number>
REPDL_LANE Ldl<Number> LdlOf(const LdlCall<Number>& call, int64_t matrix) {
  const int64_t n = call.args.n;
  return {call.args, matrix, n, call.u + matrix * n * n};
}

/// A block for each matrix.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) FactorizeKernel(const __grid_constant__ LdlCall<Number> call) {
  for (int64_t matrix = blockIdx.x; matrix < call.args.batch; matrix += gridDim.x) {
    LdlOf(call, matrix).Factorize(call.columns + matrix * 2 * call.args.n, SharedMemory<scalar::Largest>());
  }
}

template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) LoadKernel(const __grid_constant__ LdlCall<Number> call) {
  const LdlArgs& args = call.args;
  const int64_t n = args.n, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.batch * n * n; at += num_threads) {
    int64_t matrix = at;
    const int64_t i = scalar::TakeRemainder(matrix, n), j = scalar::TakeRemainder(matrix, n);
    call.u[at] = ElementOf<Number>(args.input, matrix, j, i);
    if (j == 0) CheckedIndex(args.pivots[matrix * n + i], 2 * n + 1);
  }
}

/// A right side by each thread.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) SolveKernel(const __grid_constant__ LdlCall<Number> call) {
  const LdlArgs& args = call.args;
  const int64_t n = args.n, rows = args.num_rows, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t unit = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; unit < args.batch * rows; unit += num_threads) {
    int64_t matrix = unit;
    const int64_t row = scalar::TakeRemainder(matrix, rows), first = matrix * n * rows + row;
    const auto x = [&](int64_t i) -> Number& { return call.sides[first + i * rows]; };
    for (int64_t i = 0; i < n; ++i) x(i) = ElementOf<Number>(args.rows, matrix, row, i);
    LdlOf(call, matrix).Solve(args.pivots + matrix * n, x, [&](int64_t i) -> int64_t& {
      return call.starts[first + i * rows];
    });
    for (int64_t i = 0; i < n; ++i) StoreElement(args.output, args.rows.dtype, unit * n + i, x(i));
  }
}

template <class Number>
static void Run(const Place& place, const LdlArgs& args) {
  OpScratch scratch(place);
  LdlCall<Number> call{args, scratch.Get<Number>(args.batch * args.n * args.n), nullptr, nullptr, nullptr};
  if (args.info != nullptr) {
    call.columns = scratch.Get<Number>(args.batch * 2 * args.n);
    const size_t shared = kCandidates * sizeof(scalar::Largest);
    return Launch(place, Grid{std::min(args.batch, kMaxBlocks), ThreadsFor(args.n), shared}, &FactorizeKernel<Number>,
                  call);
  }
  const int64_t sides = args.batch * args.num_rows;
  call.sides = scratch.Get<Number>(sides * args.n), call.starts = scratch.Get<int64_t>(sides * args.n);
  Launch(place, args.batch * args.n * args.n, &LoadKernel<Number>, call);
  Launch(place, sides, &SolveKernel<Number>, call);
}

REPDL_CUDA_KERNEL(LdlKernel, LdlArgs) { args.pairs ? Run<Complex>(place, args) : Run<double>(place, args); }

}  // namespace repdl::cuda
