// SPDX-License-Identifier: MIT
#include "drivers/spectral_cuda.h"
#include "ops/eigh/eigh_kernel.h"

namespace repdl::scalar {

#include "ops/eigh/eigh.lane.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// What each block has in scratch memory.
template <class Number>
struct EighCall {
  EighArgs args;
  Number *a, *rows;  // n x n numbers; `rows` has none where vectors are not wanted
  Number *tau, *w;   // n numbers
  double *d, *e;
  int64_t* order;
  scalar::Rotations rotations;
};

/// One of the batch, by the threads of a block. Row i of `a` is column i of A.
template <class Number>
struct Eigen {
  const EighCall<Number>& call;
  SpectralShared<Number>& shared;
  int64_t matrix, n;
  Number *a, *tau, *w;
  double *d, *e;
  int64_t* order;

  __device__ __forceinline__ Eigen(const EighCall<Number>& call, int64_t matrix)
      : call(call),
        shared(*SharedMemory<SpectralShared<Number>>()),
        matrix(matrix),
        n(call.args.n),
        a(call.a + blockIdx.x * n * n),
        tau(call.tau + blockIdx.x * n),
        w(call.w + blockIdx.x * n),
        d(call.d + blockIdx.x * n),
        e(call.e + blockIdx.x * n),
        order(call.order + blockIdx.x * n) {}

  __device__ __forceinline__ void Run() const {
    const EighArgs& args = call.args;
    const DType dtype = args.input.dtype;
    const scalar::Scale scale = Load();
    if (!scale.finite) {
      FillWithNaN<double>(args.values, dtype, matrix * n, n);
      if (args.vectors != nullptr) FillWithNaN<Number>(args.vectors, dtype, matrix * n * n, n * n);
      if (threadIdx.x == 0) args.info[matrix] = -1;
      return;
    }
    for (int64_t at = threadIdx.x; at < n * n; at += blockDim.x) a[at] = scale.Divided(a[at]);
    __syncthreads();
    ToTridiagonal();
    const UnitaryRows<Number> rows{n, call.rows + (args.vectors == nullptr ? 0 : blockIdx.x * n * n)};
    if (args.vectors != nullptr) {
      const int64_t count = n - (sizeof(Number) == sizeof(double) ? 2 : 1);  // a reflection of one number makes it real
      rows.Begin([&](int64_t j, int64_t i) { return a[j * n + i + 1]; }, tau, count, 1);
    }
    if (threadIdx.x == 0) {
      shared.search = scalar::Search::Of(n, d, e);
      shared.rotations[0] = OfBlock(call.rotations);
      shared.done = false;
    }
    __syncthreads();
    while (!shared.done) {
      __syncthreads();  // all know that it goes on
      if (threadIdx.x == 0) {
        shared.rotations[0].Clear();
        shared.done = scalar::Diagonalize(shared.search, shared.rotations[0]);
      }
      __syncthreads();
      if (args.vectors != nullptr) rows.Rotate(shared.rotations[0]);
    }
    PutInOrder(n, [&](int64_t i, int64_t j) { return d[i] < d[j]; }, order);
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      StoreDouble(args.values, dtype, matrix * n + i, scalar::Add(scale.Times(d[order[i]]), 0.0));
      if (args.vectors != nullptr) Store(rows.numbers + order[i] * n, (matrix * n + i) * n);
    }
    if (threadIdx.x == 0) args.info[matrix] = shared.search.info;
  }

 private:
  /// All of A from one of its triangles.
  __device__ __forceinline__ scalar::Scale Load() const {
    int64_t top = 0;
    for (int64_t at = threadIdx.x; at < n * n; at += blockDim.x) {
      int64_t i = at;
      const int64_t j = scalar::TakeRemainder(i, n);
      const Matrices& from = call.args.input;
      Number x = i < j ? ElementOf<Number>(from, matrix, j, i) : ElementOf<Number>(from, matrix, i, j);
      if (i == j) SetNumber(x, scalar::RealPart(x));
      if (i != j && (i < j) == call.args.upper) x = Conjugate(x);
      a[at] = x;
      top = scalar::Scale::Larger(top, x);
    }
    return shared.ScaleOf(top);
  }

  __device__ __forceinline__ void ToTridiagonal() const {
    for (int64_t k = 0; k < n; ++k) {
      Number* const v = a + k * n;  // from number k + 1 on
      if (threadIdx.x == 0) d[k] = scalar::RealPart(v[k]);
      if (k + 1 == n) return;
      const auto put = [&](const scalar::Head<Number>& head) {
        e[k] = head.first, tau[k] = head.tau;
        SetNumber(v[k + 1], 1.0);
      };
      MakeReflection<Number>(
          n - k - 1, [&](int64_t i) -> Number& { return v[k + 1 + i]; }, scalar::kLeastSquare, put, shared.head);
      for (int64_t j = k + 1 + threadIdx.x; j < n; j += blockDim.x) {
        Number y{};
        for (int64_t i = k + 1; i < n; ++i) y = scalar::PlusProduct(y, v[i], a[i * n + j]);
        w[j] = y;
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        double g = 0.0;
        for (int64_t j = k + 1; j < n; ++j) g = scalar::TakeIn(g, w[j], v[j], tau[k]);
        shared.share = scalar::ShareOf(tau[k], g);
      }
      __syncthreads();
      for (int64_t j = k + 1 + threadIdx.x; j < n; j += blockDim.x) {
        w[j] = scalar::WithoutShare(scalar::Times(tau[k], w[j]), shared.share, v[j]);
      }
      __syncthreads();
      const int64_t rest = n - k - 1;
      for (int64_t at = threadIdx.x; at < rest * rest; at += blockDim.x) {
        int64_t i = at;
        const int64_t j = k + 1 + scalar::TakeRemainder(i, rest);
        i += k + 1;
        Number& x = a[i * n + j];
        x = Less(Less(x, Conjugate(v[i]), w[j]), Conjugate(w[i]), v[j]);
      }
      __syncthreads();
    }
  }

  /// Column z of the rows as a vector, with its sign.
  __device__ __forceinline__ void Store(const double* z, int64_t at) const {
    const double sign = scalar::SignOfLargest(z, n);
    for (int64_t r = 0; r < n; ++r) {
      StoreElement(call.args.vectors, call.args.input.dtype, at + r, scalar::TimesWithoutSign(z[r], sign));
    }
  }
  /// Column z as the conjugate of a vector, with its phase.
  __device__ __forceinline__ void Store(const Complex* z, int64_t at) const {
    const scalar::Phase phase = scalar::Phase::Of(z, n);
    for (int64_t r = 0; r < n; ++r) {
      const Complex x = r == phase.place ? Complex{phase.size, 0.0} : scalar::TimesWithoutSign(z[r], phase.p);
      const Complex vector{x.re, scalar::Sub(0.0, x.im)};
      StoreElement(call.args.vectors, call.args.input.dtype, at + r, vector);
    }
  }
};

template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) EighMatrices(const __grid_constant__ EighCall<Number> call) {
  for (int64_t matrix = blockIdx.x; matrix < call.args.batch; matrix += gridDim.x) {
    __syncthreads();  // the matrix before is done
    Eigen<Number>(call, matrix).Run();
  }
}

template <class Number>
static void Run(const Place& place, const EighArgs& args) {
  OpScratch scratch(place);
  const int64_t n = args.n, blocks = SpectralBlocks(args.batch), numbers = blocks * n;
  EighCall<Number> call{args,
                        scratch.Get<Number>(numbers * n),
                        nullptr,
                        scratch.Get<Number>(numbers),
                        scratch.Get<Number>(numbers),
                        scratch.Get<double>(numbers),
                        scratch.Get<double>(numbers),
                        scratch.Get<int64_t>(numbers),
                        {}};
  if (args.vectors != nullptr) {
    call.rows = scratch.Get<Number>(numbers * n), call.rotations = NewRotations(scratch, blocks, n);
  }
  Launch(place, Grid{blocks, ThreadsFor(n), sizeof(SpectralShared<Number>)}, &EighMatrices<Number>, call);
}

REPDL_CUDA_KERNEL(EighKernel, EighArgs) { args.pairs ? Run<Complex>(place, args) : Run<double>(place, args); }

}  // namespace repdl::cuda
