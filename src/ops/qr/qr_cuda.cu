// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/reflections_cuda.h"
#include "ops/qr/qr_kernel.h"

namespace repdl::cuda {

/// The matrices in scratch memory, as rows of n numbers.
template <class Number>
struct QrCall {
  GeqrfArgs args;
  Number *numbers, *tau;
  double *sums, *scales;  // of each column
  int64_t* order;
};

/// A block for each matrix.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) FactorizeKernel(const __grid_constant__ QrCall<Number> call) {
  const GeqrfArgs& args = call.args;
  const DType dtype = args.input.dtype;
  for (int64_t matrix = blockIdx.x; matrix < args.batch; matrix += gridDim.x) {
    const int64_t m = args.m, n = args.n, steps = m < n ? m : n;
    const Qr<Number> qr{m,
                        n,
                        call.numbers + matrix * m * n,
                        call.tau + matrix * steps,
                        0.0,
                        call.sums + matrix * n,
                        call.scales == nullptr ? nullptr : call.scales + matrix * n,
                        call.order + matrix * n,
                        SharedMemory<scalar::Head<Number>>()};
    qr.Load([&](int64_t i, int64_t j) { return ElementOf<Number>(args.input, matrix, i, j); });
    qr.Run(args.pivot);
    // Row j: a column, and of R what is behind its diagonal.
    const bool is_r = args.factors == nullptr;
    const int64_t count = is_r ? args.num_columns : args.m;
    for (int64_t at = threadIdx.x; at < args.n * count; at += blockDim.x) {
      int64_t j = at;
      const int64_t i = scalar::TakeRemainder(j, count);
      Number number{};
      if (!is_r || i <= j) number = qr.At(i, j);
      StoreElement(is_r ? args.r : args.factors, dtype, matrix * args.n * count + at, number);
    }
    for (int64_t j = threadIdx.x; j < qr.Steps() && !is_r; j += blockDim.x) {
      StoreElement(args.tau, dtype, matrix * qr.Steps() + j, qr.tau[j]);
    }
  }
}

/// Rows in scratch memory, of which number i of row r lies at i * num_rows + r, and reflections there.
template <class Number>
struct ReflectCall {
  HouseholderArgs args;
  const Number *vectors, *tau;
  int64_t stride;  // of the numbers of a vector; the vectors lie side by side
  Number* rows;
};

/// A row by each thread.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) ReflectKernel(const __grid_constant__ ReflectCall<Number> call) {
  const HouseholderArgs& args = call.args;
  const int64_t m = args.m, count = args.num_reflections, num_threads = int64_t{gridDim.x} * blockDim.x;
  int64_t unit = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; unit < args.batch * args.num_rows; unit += num_threads) {
    int64_t matrix = unit;
    const int64_t row = scalar::TakeRemainder(matrix, args.num_rows);
    const Number *const vectors = call.vectors + matrix * m * call.stride, *const tau = call.tau + matrix * count;
    Number* const x = call.rows + matrix * m * args.num_rows + row;
    for (int64_t i = 0; i < m; ++i) {
      if (args.rows.data != nullptr) {
        x[i * args.num_rows] = ElementOf<Number>(args.rows, matrix, row, i);
      } else {
        SetNumber(x[i * args.num_rows], i == row ? 1.0 : 0.0);
      }
    }
    for (int64_t step = 0; step < count; ++step) {
      const int64_t j = args.adjoint ? step : count - 1 - step;
      Reflect(
          j, m, args.adjoint ? Conjugate(tau[j]) : tau[j], [&](int64_t i) { return vectors[i * call.stride + j]; },
          [&](int64_t i) -> Number& { return x[i * args.num_rows]; });
    }
    for (int64_t i = 0; i < m; ++i) StoreElement(args.output, args.rows.dtype, unit * m + i, x[i * args.num_rows]);
  }
}

/// The reflections of tensors, widened.
template <class Number>
struct LoadCall {
  HouseholderArgs args;
  Number *vectors, *tau;
};

template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) LoadKernel(const __grid_constant__ LoadCall<Number> call) {
  const HouseholderArgs& args = call.args;
  const int64_t count = args.num_reflections, num_threads = int64_t{gridDim.x} * blockDim.x;
  int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; at < args.batch * args.m * count; at += num_threads) {
    int64_t matrix = at;
    const int64_t j = scalar::TakeRemainder(matrix, count), i = scalar::TakeRemainder(matrix, args.m);
    call.vectors[at] = ElementOf<Number>(args.factors, matrix, j, i);
    if (i == 0) call.tau[matrix * count + j] = ElementOf<Number>(args.tau, matrix, 0, j);
  }
}

template <class Number>
static void ReflectRows(const Place& place, const HouseholderArgs& args, const Number* vectors, int64_t stride,
                        const Number* tau, OpScratch& scratch) {
  const int64_t units = args.batch * args.num_rows;
  if (units * args.m == 0) return;
  Launch(place, units, &ReflectKernel<Number>,
         {args, vectors, tau, stride, scratch.Get<Number>(args.batch * args.m * args.num_rows)});
}

template <class Number>
static void Run(const Place& place, const GeqrfArgs& args) {
  OpScratch scratch(place);
  const int64_t m = args.m, n = args.n, steps = std::min(m, n);
  const QrCall<Number> call{args, scratch.Get<Number>(args.batch * m * n), scratch.Get<Number>(args.batch * steps),
                            scratch.Get<double>(args.batch * n),
                            // Float numbers do not get out of double.
                            args.input.dtype == DType::kFloat64 ? scratch.Get<double>(args.batch * n) : nullptr,
                            args.order != nullptr ? args.order : scratch.Get<int64_t>(args.batch * n)};
  const Grid grid{std::min(args.batch, kMaxBlocks), ThreadsFor(std::max(m, n)), sizeof(scalar::Head<Number>)};
  Launch(place, grid, &FactorizeKernel<Number>, call);
  if (args.factors != nullptr) return;
  HouseholderArgs of_q{};
  of_q.batch = args.batch, of_q.m = m, of_q.num_reflections = steps, of_q.num_rows = args.num_columns;
  of_q.rows.dtype = args.input.dtype;
  of_q.output = args.q;
  ReflectRows<Number>(place, of_q, call.numbers, n, call.tau, scratch);
}

template <class Number>
static void Run(const Place& place, const HouseholderArgs& args) {
  OpScratch scratch(place);
  const int64_t count = args.num_reflections;
  auto* const vectors = scratch.Get<Number>(args.batch * args.m * count);
  auto* const tau = scratch.Get<Number>(args.batch * count);
  if (count > 0) Launch(place, args.batch * args.m * count, &LoadKernel<Number>, {args, vectors, tau});
  ReflectRows<Number>(place, args, vectors, count, tau, scratch);
}

REPDL_CUDA_KERNEL(GeqrfKernel, GeqrfArgs) { args.pairs ? Run<Complex>(place, args) : Run<double>(place, args); }
REPDL_CUDA_KERNEL(HouseholderKernel, HouseholderArgs) {
  args.pairs ? Run<Complex>(place, args) : Run<double>(place, args);
}

}  // namespace repdl::cuda
