// SPDX-License-Identifier: MIT
#include <utility>

#include "base/cuda_launch.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/loops_cuda_thread.h"
#include "ops/fft/fft_kernel.h"

namespace repdl::scalar {

#pragma nv_diag_suppress 1675  // nvcc leaves out `#pragma GCC unroll`
#include "ops/fft/fft.row.h"
#pragma nv_diag_default 1675

}  // namespace repdl::scalar

namespace repdl::cuda {

/// The parts of numbers that are transformed, `length` for each row.
template <class T>
struct Planes {
  T *re, *im;

  Planes Swapped() const { return {im, re}; }
};

/// Some rows between memory and planes. Of a table of complex numbers `im` is the run behind `re`.
template <class T>
struct RowsCall {
  FftKind kind;
  bool swapped;  // real and imaginary parts are exchanged before and after
  int64_t first, rows;
  int64_t n, length, results;
  FftRow<const T> in;
  FftRow<T> out;
  scalar::DeviceLoops in_starts, out_starts;
  const T *untangling, *chirp;
  T divisor, reciprocal;
  Planes<T> planes;

  /// Number i of the n of a row that lies at `start`.
  REPDL_LANE void Read(int64_t start, int64_t i, T& re, T& im) const {
    switch (kind) {
      case FftKind::kToReal: {
        const int64_t k = i <= n / 2 ? i : n - i;
        At(start, k, k == 0, re, im);
        if (k != i) im = scalar::Neg(im);
        return;
      }
      case FftKind::kToPairs: {
        T a, b, c, d;
        At(start, i, i == 0, a, b);
        At(start, n - i, i == 0, c, d);
        scalar::Tangle(a, b, c, d, untangling[i], scalar::Neg(untangling[n + 1 + i]), re, im);
        return;
      }
      default: At(start, i, false, re, im);
    }
  }
  /// Result i of a row whose planes are these.
  REPDL_LANE void Result(const T* plane_re, const T* plane_im, int64_t i, T& re, T& im) const {
    if (kind != FftKind::kFromPairs) {
      re = plane_re[i], im = plane_im[i];
      return;
    }
    const int64_t here = i == n ? 0 : i, there = i == 0 ? 0 : n - i;
    scalar::Untangle(plane_re[here], plane_im[here], plane_re[there], plane_im[there], untangling[i],
                     untangling[n + 1 + i], re, im);
  }
  REPDL_LANE T End(T x) const {
    if (divisor == T{1}) return x;
    return reciprocal != T{0} ? scalar::Mul(x, reciprocal) : scalar::Div(x, divisor);
  }

 private:
  REPDL_LANE void At(int64_t start, int64_t i, bool is_real, T& re, T& im) const {
    re = in.real[start + i * in.step];
    im = is_real || in.imaginary == nullptr ? T{0} : in.imaginary[start + i * in.step];
  }
};

/// A number of a row by each thread, times its factor where the transform is a convolution.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) ReadKernel(const __grid_constant__ RowsCall<T> call) {
  const int64_t count = call.rows * call.length, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t row = at;
    const int64_t i = scalar::TakeRemainder(row, call.length);
    T re = 0, im = 0;
    if (i < call.n) {
      call.Read(call.in_starts.Offset(call.first + row), i, re, im);
      if (call.swapped) {
        const T other = re;
        re = im, im = other;
      }
      if (call.chirp != nullptr) scalar::Times(re, im, call.chirp[i], call.chirp[call.n + i], re, im);
    }
    call.planes.re[at] = re, call.planes.im[at] = im;
  }
}

/// A result of a row by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) WriteRowsKernel(const __grid_constant__ RowsCall<T> call) {
  const int64_t count = call.rows * call.results, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t row = at;
    const int64_t i = scalar::TakeRemainder(row, call.results);
    const int64_t to = call.out_starts.Offset(call.first + row) + i * call.out.step;
    T re, im;
    call.Result(call.planes.re + row * call.length, call.planes.im + row * call.length, i, re, im);
    T* const real = call.swapped ? call.out.imaginary : call.out.real;
    T* const imaginary = call.swapped ? call.out.real : call.out.imaginary;
    if (real != nullptr) real[to] = call.End(re);
    if (imaginary != nullptr) imaginary[to] = call.End(im);
  }
}

/// The first n numbers of each row times their factors.
template <class T>
struct TimesCall {
  Planes<T> x;
  int64_t rows, n, length;
  const T* factors;
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) TimesKernel(const __grid_constant__ TimesCall<T> call) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.rows * call.n; i += num_threads) {
    int64_t row = i;
    const int64_t k = scalar::TakeRemainder(row, call.n), at = row * call.length + k;
    T re, im;
    scalar::Times(call.x.re[at], call.x.im[at], call.factors[k], call.factors[call.n + k], re, im);
    call.x.re[at] = re, call.x.im[at] = im;
  }
}

/// B[k + j l, t] of A[k, t + q m], for each row.
template <class T>
struct StepCall {
  Planes<T> x, y;
  int64_t rows, p, l, m;
  const T *roots, *inside;
};

/// The numbers k, t of a row by each thread. kP is the factor, or 0 for any odd one.
template <class T, int kP>
__global__ void __launch_bounds__(kThreadsPerBlock) StepKernel(const __grid_constant__ StepCall<T> call) {
  constexpr int kMax = kP == 0 ? static_cast<int>(kMaxFftFactor) : kP;
  const int64_t p = kP == 0 ? call.p : kP, l = call.l, m = call.m;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.rows * l * m; i += num_threads) {
    int64_t row = i;
    const int64_t t = scalar::TakeRemainder(row, m), k = scalar::TakeRemainder(row, l), begin = row * p * l * m;
    const T* const x_re = call.x.re + begin + k * p * m + t;
    const T* const x_im = call.x.im + begin + k * p * m + t;
    T* const y_re = call.y.re + begin + k * m + t;
    T* const y_im = call.y.im + begin + k * m + t;
    T a_re[kMax], a_im[kMax];
    for (int64_t q = 0; q < p; ++q) {
      T re = x_re[q * m], im = x_im[q * m];
      if (q > 0 && call.roots != nullptr) {
        const T* const root = call.roots + (q - 1) * l + k;
        scalar::Times(re, im, root[0], root[(p - 1) * l], re, im);
      }
      a_re[q] = re, a_im[q] = im;
    }
    const auto put = [&](int64_t j, T re, T im) { y_re[j * l * m] = re, y_im[j * l * m] = im; };
    scalar::Butterfly<T, kP>(a_re, a_im, p, call.inside, put);
  }
}

template <class T>
static void Step(const Place& place, const StepCall<T>& call) {
  const int64_t count = call.rows * call.l * call.m;
  switch (call.p) {
    case 2: return Launch(place, count, &StepKernel<T, 2>, call);
    case 3: return Launch(place, count, &StepKernel<T, 3>, call);
    case 4: return Launch(place, count, &StepKernel<T, 4>, call);
    case 5: return Launch(place, count, &StepKernel<T, 5>, call);
    default: return Launch(place, count, &StepKernel<T, 0>, call);
  }
}

/// The steps of all factors, of x into x, with y as room.
template <class T>
static void Steps(const Place& place, const FftTable<T>& table, int64_t rows, Planes<T>& x, Planes<T>& y) {
  int64_t l = 1;
  for (int i = 0; i < table.num_factors; ++i) {
    const int64_t p = table.factors[i];
    Step(place, StepCall<T>{x, y, rows, p, l, table.length / (l * p), table.roots[i], table.inside[i]});
    std::swap(x, y);
    l *= p;
  }
}

/// The tables where the op runs.
template <class T>
static FftTable<T> TableOnPlace(FftTable<T> table, OpScratch& scratch) {
  int64_t l = 1;
  for (int i = 0; i < table.num_factors; ++i) {
    const int64_t p = table.factors[i], half = p / 2;
    if (table.roots[i] != nullptr) table.roots[i] = OnPlace(table.roots[i], 2 * (p - 1) * l, scratch);
    if (table.inside[i] != nullptr) table.inside[i] = OnPlace(table.inside[i], 2 * half * half, scratch);
    l *= p;
  }
  if (table.chirp != nullptr) {
    table.chirp = OnPlace(table.chirp, 2 * table.n, scratch);
    table.kernel = OnPlace(table.kernel, 2 * table.length, scratch);
  }
  return table;
}

/// Bytes of the planes of rows that are transformed together.
static constexpr int64_t kMaxPlanes = int64_t{1} << 28;

template <class T>
static void Transform(const Place& place, const FftArgs<T>& args) {
  OpScratch scratch(place);
  const FftTable<T> table = TableOnPlace(args.table, scratch);
  const int64_t n = table.n, length = table.length;
  const int64_t of_row = 4 * length * static_cast<int64_t>(sizeof(T));
  const int64_t most = std::clamp<int64_t>(kMaxPlanes / of_row, 1, args.num_rows), size = most * length;
  T* const room = scratch.Get<T>(4 * size);
  RowsCall<T> call{};
  call.kind = args.kind;
  call.swapped = args.inverse || args.kind == FftKind::kToReal || args.kind == FftKind::kToPairs;
  call.n = n, call.length = length;
  call.results = args.kind == FftKind::kFromReal ? n / 2 + 1 : args.kind == FftKind::kFromPairs ? n + 1 : n;
  call.in = args.in, call.out = args.out;
  call.in_starts = scalar::DeviceLoops(args.in_starts), call.out_starts = scalar::DeviceLoops(args.out_starts);
  call.untangling = args.untangling == nullptr ? nullptr : OnPlace(args.untangling, 2 * (n + 1), scratch);
  call.chirp = table.chirp;
  call.divisor = args.divisor, call.reciprocal = args.reciprocal;
  for (; call.first < args.num_rows; call.first += call.rows) {
    call.rows = std::min(most, args.num_rows - call.first);
    Planes<T> x{room, room + size}, y{room + 2 * size, room + 3 * size};
    call.planes = x;
    Launch(place, call.rows * length, &ReadKernel<T>, call);
    Steps(place, table, call.rows, x, y);
    if (table.chirp != nullptr) {
      Launch(place, call.rows * length, &TimesKernel<T>, {x, call.rows, length, length, table.kernel});
      x = x.Swapped();
      Steps(place, table, call.rows, x, y);
      x = x.Swapped();
      Launch(place, call.rows * n, &TimesKernel<T>, {x, call.rows, n, length, table.chirp});
    }
    call.planes = x;
    Launch(place, call.rows * call.results, &WriteRowsKernel<T>, call);
  }
}

/// The second half of a spectrum of real numbers, `rest` numbers of each of `rows` rows.
template <class T>
struct MirrorCall {
  T* data;
  int rank, last;
  int64_t rows, rest;
  int64_t shape[kMaxRank], strides[kMaxRank];
  bool is_transformed[kMaxRank];
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) MirrorKernel(const __grid_constant__ MirrorCall<T> call) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.rows * call.rest; i += num_threads) {
    int64_t row = i;
    const int64_t n = call.shape[call.last], k = n - 1 - scalar::TakeRemainder(row, call.rest);
    int64_t to = k * call.strides[call.last], from = (n - k) * call.strides[call.last];
    for (int dim = call.rank - 1; dim >= 0; --dim) {
      if (dim == call.last) continue;
      const int64_t at = scalar::TakeRemainder(row, call.shape[dim]);
      to += at * call.strides[dim];
      from += (call.is_transformed[dim] && at > 0 ? call.shape[dim] - at : at) * call.strides[dim];
    }
    call.data[to] = call.data[from];
    call.data[to + 1] = scalar::Neg(call.data[from + 1]);
  }
}

template <class T>
static void Mirror(const Place& place, const FftMirrorArgs<T>& args) {
  MirrorCall<T> call{};
  call.data = args.data;
  call.rank = args.shape.size(), call.last = args.last;
  call.rows = 1;
  for (int dim = 0; dim < call.rank; ++dim) {
    call.shape[dim] = args.shape[dim], call.strides[dim] = args.strides[dim];
    call.is_transformed[dim] = args.is_transformed[dim];
    if (dim != args.last) call.rows *= args.shape[dim];
  }
  const int64_t n = args.shape[args.last];
  call.rest = n - (n / 2 + 1);
  if (call.rest > 0) Launch(place, call.rows * call.rest, &MirrorKernel<T>, call);
}

REPDL_CUDA_KERNEL(FftKernel, FftArgs<float>) { Transform(place, args); }
REPDL_CUDA_KERNEL(FftKernel, FftArgs<double>) { Transform(place, args); }
REPDL_CUDA_KERNEL(FftMirrorKernel, FftMirrorArgs<float>) { Mirror(place, args); }
REPDL_CUDA_KERNEL(FftMirrorKernel, FftMirrorArgs<double>) { Mirror(place, args); }

}  // namespace repdl::cuda
