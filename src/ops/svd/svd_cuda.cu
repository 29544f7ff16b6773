// SPDX-License-Identifier: MIT
#include "drivers/spectral_cuda.h"
#include "ops/svd/svd_kernel.h"

namespace repdl::scalar {

#include "ops/svd/svd.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// What each block has in scratch memory. A is m x n, m >= n: the input or its transpose.
template <class Number>
struct SvdCall {
  SvdArgs args;
  bool is_transposed, wants_vectors;
  int64_t m, n, num_u;
  Number* a;            // m x n: the reflections of Q
  Number* b;            // n x n: R, and then the reflections of its columns and rows
  Number *of_u, *of_v;  // n x n, where vectors are wanted, as what follows
  Number *u, *v;        // num_u rows of m, and n of n
  Number* tau;          // 3 n: of Q, columns and rows
  double *d, *e;
  int64_t* order;
  scalar::Rotations rotations_of_u, rotations_of_v;
};

/// One of the batch, by the threads of a block.
template <class Number>
struct Svd {
  static constexpr int64_t kAlone =
      sizeof(Number) == sizeof(double) ? 0 : 1;  // a reflection of one number makes it real

  const SvdCall<Number>& call;
  SpectralShared<Number>& shared;
  int64_t matrix, m, n;
  Number *a, *b, *of_q, *of_columns, *of_rows;
  double *d, *e;
  int64_t* order;

  __device__ __forceinline__ Svd(const SvdCall<Number>& call, int64_t matrix)
      : call(call),
        shared(*SharedMemory<SpectralShared<Number>>()),
        matrix(matrix),
        m(call.m),
        n(call.n),
        a(call.a + blockIdx.x * m * n),
        b(call.b + blockIdx.x * n * n),
        of_q(call.tau + blockIdx.x * 3 * n),
        of_columns(of_q + n),
        of_rows(of_columns + n),
        d(call.d + blockIdx.x * n),
        e(call.e + blockIdx.x * n),
        order(call.order + blockIdx.x * n) {}

  __device__ __forceinline__ void Run() const {
    const SvdArgs& args = call.args;
    const DType dtype = args.input.dtype;
    const scalar::Scale scale = Load();
    if (!scale.finite) {
      FillWithNaN<double>(args.s, dtype, matrix * n, n);
      if (call.wants_vectors) {
        FillWithNaN<Number>(call.is_transposed ? args.vh : args.u, dtype, matrix * m * call.num_u, m * call.num_u);
        FillWithNaN<Number>(call.is_transposed ? args.u : args.vh, dtype, matrix * n * n, n * n);
      }
      if (threadIdx.x == 0) args.info[matrix] = -1;
      return;
    }
    for (int64_t at = threadIdx.x; at < m * n; at += blockDim.x) a[at] = scale.Divided(a[at]);
    if (m > n) Qr<Number>{m, n, a, of_q, scalar::kLeastSquare, nullptr, nullptr, nullptr, &shared.head}.Run(false);
    for (int64_t at = threadIdx.x; at < n * n; at += blockDim.x) {
      int64_t i = at;
      const int64_t j = scalar::TakeRemainder(i, n);
      b[at] = m > n && i > j ? Number{} : a[at];
    }
    __syncthreads();
    ToBidiagonal();
    const int64_t part = call.wants_vectors ? blockIdx.x * n * n : 0;
    const UnitaryRows<Number> of_u{n, call.of_u + part}, of_v{n, call.of_v + part};
    if (call.wants_vectors) {
      of_u.Begin([&](int64_t j, int64_t i) { return b[i * n + j]; }, of_columns, n - 1 + kAlone, 0);
      of_v.Begin([&](int64_t j, int64_t i) { return b[j * n + i + 1]; }, of_rows, n - 2 + kAlone, 1);
    }
    if (threadIdx.x == 0) {
      shared.search = scalar::Search::Of(n, d, e);
      shared.rotations[0] = OfBlock(call.rotations_of_u), shared.rotations[1] = OfBlock(call.rotations_of_v);
      shared.done = false;
    }
    __syncthreads();
    while (!shared.done) {
      __syncthreads();  // all know that it goes on
      if (threadIdx.x == 0) {
        shared.rotations[0].Clear(), shared.rotations[1].Clear();
        shared.done = scalar::Diagonalize(shared.search, shared.rotations[0], shared.rotations[1]);
      }
      __syncthreads();
      if (!call.wants_vectors) continue;
      of_u.Rotate(shared.rotations[0]);
      of_v.Rotate(shared.rotations[1]);
    }
    PutInOrder(n, [&](int64_t i, int64_t j) { return scalar::Abs(d[i]) > scalar::Abs(d[j]); }, order);
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      StoreDouble(args.s, dtype, matrix * n + i, scale.Times(scalar::Abs(d[order[i]])));
    }
    for (int64_t j = threadIdx.x; j < call.num_u && call.wants_vectors; j += blockDim.x) MakeVectors(j, of_u, of_v);
    if (threadIdx.x == 0) args.info[matrix] = shared.search.info;
  }

 private:
  __device__ __forceinline__ scalar::Scale Load() const {
    int64_t top = 0;
    for (int64_t at = threadIdx.x; at < m * n; at += blockDim.x) {
      int64_t i = at;
      const int64_t j = scalar::TakeRemainder(i, n);
      a[at] = ElementOf<Number>(call.args.input, matrix, i, j);
      top = scalar::Scale::Larger(top, a[at]);
    }
    return shared.ScaleOf(top);
  }

  __device__ __forceinline__ void ToBidiagonal() const {
    for (int64_t k = 0; k < n; ++k) {
      const auto put_column = [&](const scalar::Head<Number>& head) {
        d[k] = head.first, of_columns[k] = head.tau;
        SetNumber(b[k * n + k], 1.0);
      };
      MakeReflection<Number>(
          n - k, [&](int64_t i) -> Number& { return b[(k + i) * n + k]; }, scalar::kLeastSquare, put_column,
          shared.head);
      if (k + 1 == n) return;
      for (int64_t j = k + 1 + threadIdx.x; j < n; j += blockDim.x) {
        Reflect(
            k, n, Conjugate(of_columns[k]), [&](int64_t i) { return b[i * n + k]; },
            [&](int64_t i) -> Number& { return b[i * n + j]; });
        b[k * n + j] = Conjugate(b[k * n + j]);
      }
      __syncthreads();
      Number* const v = b + k * n + k + 1;
      const auto put_row = [&](const scalar::Head<Number>& head) {
        e[k] = head.first, of_rows[k] = head.tau;
        SetNumber(v[0], 1.0);
      };
      MakeReflection<Number>(
          n - k - 1, [&](int64_t i) -> Number& { return v[i]; }, scalar::kLeastSquare, put_row, shared.head);
      for (int64_t i = k + 1 + threadIdx.x; i < n; i += blockDim.x) {
        Number* const x = b + i * n + k + 1;
        const Number q = scalar::Times(of_rows[k], Inner(x, v, n - k - 1));
        for (int64_t j = 0; j < n - k - 1; ++j) x[j] = Less(x[j], q, Conjugate(v[j]));
      }
      __syncthreads();
    }
  }

  REPDL_LANE static Number Inner(const Number* x, const Number* y, int64_t count) {
    constexpr int kLanes = 16;
    Number lanes[kLanes]{};
    for (int64_t begin = 0; begin < count; begin += kLanes) {
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane) {
        const int64_t i = begin + lane;
        if (i < count) lanes[lane] = scalar::PlusProduct(lanes[lane], x[i], y[i]);
      }
    }
#pragma unroll
    for (int h = kLanes / 2; h >= 1; h /= 2) {
#pragma unroll
      for (int lane = 0; lane < h; ++lane) lanes[lane] = scalar::Plus(lanes[lane], lanes[lane + h]);
    }
    return lanes[0];
  }

  /// Column j of U and, where there is one, of V, by one thread.
  __device__ __forceinline__ void MakeVectors(int64_t j, const UnitaryRows<Number>& of_u,
                                              const UnitaryRows<Number>& of_v) const {
    const SvdArgs& args = call.args;
    const int64_t num_u = call.num_u, count = j < n ? n : 0;
    Number* const x = call.u + (blockIdx.x * num_u + j) * m;
    Number* const y = call.v + (blockIdx.x * n + j) * n;
    for (int64_t i = 0; i < m; ++i) {
      if (i < count) {
        x[i] = Conjugate(of_u.At(i, order[j]));
        y[i] = of_v.At(i, order[j]);
        if (d[order[j]] < 0.0) y[i] = scalar::TimesWithoutSign(y[i], -1.0);
      } else {
        SetNumber(x[i], i == j ? 1.0 : 0.0);
      }
    }
    for (int64_t k = n - 1; k >= 0 && m > n; --k) {
      Reflect(k, m, of_q[k], [&](int64_t i) { return a[i * n + k]; }, [&](int64_t i) -> Number& { return x[i]; });
    }
    if (call.is_transposed && count > 0) {  // so that it is the U of the input
      scalar::SetSign(y, count, x, m);
    } else {
      scalar::SetSign(x, m, y, count);
    }
    const DType dtype = args.input.dtype;
    for (int64_t i = 0; i < m; ++i) {
      if (call.is_transposed) {
        StoreElement(args.vh, dtype, (matrix * m + i) * num_u + j, x[i]);
      } else {
        StoreElement(args.u, dtype, (matrix * num_u + j) * m + i, x[i]);
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      if (call.is_transposed) {
        StoreElement(args.u, dtype, (matrix * n + j) * n + i, y[i]);
      } else {
        StoreElement(args.vh, dtype, (matrix * n + i) * n + j, y[i]);
      }
    }
  }
};

template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) SvdMatrices(const __grid_constant__ SvdCall<Number> call) {
  for (int64_t matrix = blockIdx.x; matrix < call.args.batch; matrix += gridDim.x) {
    __syncthreads();  // the matrix before is done
    Svd<Number>(call, matrix).Run();
  }
}

template <class Number>
static void Run(const Place& place, const SvdArgs& args) {
  OpScratch scratch(place);
  SvdCall<Number> call{};
  call.args = args;
  call.is_transposed = args.m < args.n, call.wants_vectors = args.u != nullptr || args.vh != nullptr;
  if (call.is_transposed) call.args.input = args.input.Transposed();
  const int64_t m = call.m = std::max(args.m, args.n), n = call.n = std::min(args.m, args.n);
  const int64_t num_u = call.num_u = args.full ? m : n, blocks = SpectralBlocks(args.batch);
  call.a = scratch.Get<Number>(blocks * m * n), call.b = scratch.Get<Number>(blocks * n * n);
  call.tau = scratch.Get<Number>(blocks * 3 * n);
  call.d = scratch.Get<double>(blocks * n), call.e = scratch.Get<double>(blocks * n);
  call.order = scratch.Get<int64_t>(blocks * n);
  if (call.wants_vectors) {
    call.of_u = scratch.Get<Number>(blocks * n * n), call.of_v = scratch.Get<Number>(blocks * n * n);
    call.u = scratch.Get<Number>(blocks * num_u * m), call.v = scratch.Get<Number>(blocks * n * n);
    call.rotations_of_u = NewRotations(scratch, blocks, n), call.rotations_of_v = NewRotations(scratch, blocks, n);
  }
  Launch(place, Grid{blocks, ThreadsFor(m), sizeof(SpectralShared<Number>)}, &SvdMatrices<Number>, call);
}

REPDL_CUDA_KERNEL(SvdKernel, SvdArgs) { args.pairs ? Run<Complex>(place, args) : Run<double>(place, args); }

}  // namespace repdl::cuda
