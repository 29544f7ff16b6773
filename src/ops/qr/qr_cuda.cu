// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/matrix_cuda.h"
#include "ops/qr/qr_kernel.h"

namespace repdl::cuda {

/// Where double holds the squares of numbers, 1; else 2^e for the exponent e of the largest, at most 2^±1000.
REPDL_LANE double ScaleForSquares(double largest) {
  const scalar::Tag<int64_t> di;
  const scalar::Tag<double> d;
  if (!(largest > 0.0) || largest == scalar::Inf(d)) return 1.0;
  const int64_t exponent = (scalar::BitCast(di, largest) >> 52) - 1023;  // of subnormals too small to matter which
  if (exponent >= -480 && exponent <= 480) return 1.0;
  return scalar::BitCast(d, (scalar::Limit<int64_t>(exponent, -1000, 1000) + 1023) << 52);
}

REPDL_LANE double LargestPart(double largest, double x) { return scalar::Max(largest, scalar::Abs(x)); }
REPDL_LANE double LargestPart(double largest, const Complex& x) {
  return LargestPart(LargestPart(largest, x.re), x.im);
}
REPDL_LANE double Times(double x, double by) { return scalar::Mul(x, by); }
REPDL_LANE Complex Times(const Complex& x, double by) { return {scalar::Mul(x.re, by), scalar::Mul(x.im, by)}; }
REPDL_LANE Complex Times(const Complex& x, const Complex& y) {
  Complex product;
  scalar::ComplexMul()(scalar::Tag<double>(), x.re, x.im, y.re, y.im, product.re, product.im);
  return product;
}
REPDL_LANE double Minus(double x, double y) { return scalar::Sub(x, y); }
REPDL_LANE Complex Minus(const Complex& x, const Complex& y) {
  return {scalar::Sub(x.re, y.re), scalar::Sub(x.im, y.im)};
}
/// The sum and the squares of the parts.
REPDL_LANE double PlusSquares(double sum, double x) { return scalar::Fma(x, x, sum); }
REPDL_LANE double PlusSquares(double sum, const Complex& x) { return PlusSquares(PlusSquares(sum, x.re), x.im); }
/// w + conj(v) x
REPDL_LANE double PlusConjugate(double w, double v, double x) { return scalar::Fma(v, x, w); }
REPDL_LANE Complex PlusConjugate(const Complex& w, const Complex& v, const Complex& x) {
  return {scalar::Fma(v.im, x.im, scalar::Fma(v.re, x.re, w.re)),
          scalar::Fma(scalar::Neg(v.im), x.re, scalar::Fma(v.re, x.im, w.im))};
}

/// Reflection j of x(i), of m numbers.
template <class Number, class X, class V>
REPDL_LANE void Reflect(int64_t j, int64_t m, const Number& tau, const V& v, const X& x) {
  Number w = x(j);
  for (int64_t i = j + 1; i < m; ++i) w = PlusConjugate(w, v(i), x(i));
  const Number t = Times(tau, w);
  x(j) = Minus(x(j), t);
  for (int64_t i = j + 1; i < m; ++i) x(i) = Less(x(i), v(i), t);
}

/// The matrices in scratch memory, as rows of n numbers.
template <class Number>
struct QrCall {
  GeqrfArgs args;
  Number *numbers, *tau;
  double* sums;  // of each column
  int64_t* order;
};

/// What becomes of a number of a diagonal, the parts behind it having these squares: tau, and what is divided by.
struct Head {
  double root, divisor, real_tau;

  REPDL_LANE Head(double x, double squares) {
    const double size = scalar::Sqrt(scalar::Fma(x, x, squares));
    root = x < 0.0 ? size : scalar::Neg(size);
    real_tau = scalar::Div(scalar::Sub(root, x), root);
    divisor = scalar::Sub(x, root);
  }
};

/// What the threads of a block share of a reflection.
template <class Number>
struct Reflection {
  Number divisor;
  bool reflects;
};

/// One of the batch, by the threads of a block.
template <class Number>
struct Factorization {
  const QrCall<Number>& call;
  int64_t matrix, m, n;
  Number *numbers, *tau;
  double* sums;
  int64_t* order;

  __device__ __forceinline__ Factorization(const QrCall<Number>& call, int64_t matrix)
      : call(call),
        matrix(matrix),
        m(call.args.m),
        n(call.args.n),
        numbers(call.numbers + matrix * m * n),
        tau(call.tau + matrix * Steps()),
        sums(call.sums + matrix * n),
        order(call.order + matrix * n) {}

  __device__ __forceinline__ int64_t Steps() const { return m < n ? m : n; }
  __device__ __forceinline__ Number& At(int64_t i, int64_t j) const { return numbers[i * n + j]; }

  __device__ __forceinline__ void Run(bool scales) const {
    const bool pivot = call.args.pivot;
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
      order[j] = j;
      for (int64_t i = 0; i < m; ++i) At(i, j) = ElementOf<Number>(call.args.input, matrix, i, j);
    }
    if (scales) Scale();
    for (int64_t j = 0; j < Steps(); ++j) {
      __syncthreads();  // the reflection before is done
      if (pivot) Exchange(j);
      MakeReflection(j);
      const Number factor = Conjugate(tau[j]);
      for (int64_t c = j + 1 + threadIdx.x; c < n; c += blockDim.x) {
        Reflect(j, m, factor, [&](int64_t i) { return At(i, j); }, [&](int64_t i) -> Number& { return At(i, c); });
      }
    }
    __syncthreads();
    if (scales) ScaleBack();
  }

 private:
  /// Divides the columns, or with pivot all of them alike, by powers of two, which are kept apart from the sums.
  __device__ __forceinline__ void Scale() const {
    double* const largest = Scales();
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
      double of_column = 0.0;
      for (int64_t i = 0; i < m; ++i) of_column = LargestPart(of_column, At(i, j));
      sums[j] = of_column;
    }
    __syncthreads();
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
      double of_all = sums[j];
      for (int64_t c = 0; c < n && call.args.pivot; ++c) of_all = scalar::Max(of_all, sums[c]);
      const double scale = largest[j] = ScaleForSquares(of_all);
      if (scale == 1.0) continue;
      const double by = scalar::Div(1.0, scale);
      for (int64_t i = 0; i < m; ++i) At(i, j) = Times(At(i, j), by);
    }
  }
  __device__ __forceinline__ void ScaleBack() const {
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
      const double scale = Scales()[j];
      for (int64_t i = 0; i < m && i <= j && scale != 1.0; ++i) At(i, j) = Times(At(i, j), scale);
    }
    __syncthreads();
  }
  /// Behind the sums of all matrices.
  __device__ __forceinline__ double* Scales() const { return sums + call.args.batch * n; }

  /// Columns j and that of the first largest squares, NaN before all numbers.
  __device__ __forceinline__ void Exchange(int64_t j) const {
    for (int64_t c = j + threadIdx.x; c < n; c += blockDim.x) {
      double sum = 0.0;
      for (int64_t i = j; i < m; ++i) sum = PlusSquares(sum, At(i, c));
      sums[c] = sum;
    }
    __syncthreads();
    int64_t chosen = j;
    for (int64_t c = j + 1; c < n && sums[chosen] == sums[chosen]; ++c) {
      if (!(sums[c] <= sums[chosen])) chosen = c;
    }
    for (int64_t i = threadIdx.x; i < m && chosen != j; i += blockDim.x) {
      const Number number = At(i, j);
      At(i, j) = At(i, chosen), At(i, chosen) = number;
    }
    if (threadIdx.x == 0) {
      const int64_t number = order[j];
      order[j] = order[chosen], order[chosen] = number;
    }
    __syncthreads();
  }

  /// The chain of the squares is one thread's.
  __device__ __forceinline__ void MakeReflection(int64_t j) const {
    Reflection<Number>& shared = *SharedMemory<Reflection<Number>>();
    if (threadIdx.x == 0) {
      const Number x = At(j, j);
      double squares = 0.0;
      for (int64_t i = j + 1; i < m; ++i) squares = PlusSquares(squares, At(i, j));
      squares = PlusImaginary(squares, x);
      const bool reflects = !(squares <= 0.0);
      const Head head(RealPart(x), squares);
      shared = {Divisor(head, x), reflects};
      tau[j] = reflects ? Tau(head, x) : Number{};
      SetNumber(At(j, j), reflects ? head.root : RealPart(x));
    }
    __syncthreads();  // it is known what the column is divided by
    for (int64_t i = j + 1 + threadIdx.x; i < m && shared.reflects; i += blockDim.x) {
      At(i, j) = Quotient(At(i, j), shared.divisor);
    }
    __syncthreads();
  }
  __device__ __forceinline__ static double PlusImaginary(double squares, double) { return squares; }
  __device__ __forceinline__ static double PlusImaginary(double squares, const Complex& x) {
    return PlusSquares(squares, x.im);
  }
  __device__ __forceinline__ static double Divisor(const Head& head, double) { return head.divisor; }
  __device__ __forceinline__ static Complex Divisor(const Head& head, const Complex& x) { return {head.divisor, x.im}; }
  __device__ __forceinline__ static double Tau(const Head& head, double) { return head.real_tau; }
  __device__ __forceinline__ static Complex Tau(const Head& head, const Complex& x) {
    return {head.real_tau, scalar::Neg(scalar::Div(x.im, head.root))};
  }
};

/// A block for each matrix.
template <class Number>
__global__ void __launch_bounds__(kThreadsPerBlock) FactorizeKernel(const __grid_constant__ QrCall<Number> call) {
  const GeqrfArgs& args = call.args;
  const DType dtype = args.input.dtype;
  for (int64_t matrix = blockIdx.x; matrix < args.batch; matrix += gridDim.x) {
    const Factorization<Number> qr(call, matrix);
    qr.Run(dtype == DType::kFloat64);  // float numbers do not get out of double
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
                            scratch.Get<double>(2 * args.batch * n),
                            args.order != nullptr ? args.order : scratch.Get<int64_t>(args.batch * n)};
  const Grid grid{std::min(args.batch, kMaxBlocks), kThreadsPerBlock, sizeof(Reflection<Number>)};
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
