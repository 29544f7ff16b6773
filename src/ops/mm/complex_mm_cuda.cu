// SPDX-License-Identifier: MIT
#include "base/cuda_launch.h"
#include "base/op_scratch.h"
#include "drivers/loops_cuda_thread.h"
#include "ops/mm/complex_mm_kernel.h"
#include "ops/mm/mm_kernel.h"

namespace repdl::cuda {

template <class T>
struct SplitCall {
  const T* pairs;
  scalar::DeviceLoops lines;
  int64_t count, length, step, part_step;
  bool conjugate;
  T *real, *imaginary;
  int64_t lines_each, line_step, matrix_step;
};

/// A pair by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) SplitKernel(const __grid_constant__ SplitCall<T> call) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.count; i += num_threads) {
    int64_t line = i;
    const int64_t at = scalar::TakeRemainder(line, call.length);
    const T* const pair = call.pairs + call.lines.Offset(line) + at * call.step;
    const int64_t in_matrix = scalar::TakeRemainder(line, call.lines_each);
    const int64_t to = line * call.matrix_step + in_matrix * call.line_step + at;
    const T imaginary = pair[call.part_step];
    call.real[to] = pair[0];
    call.imaginary[to] = call.conjugate ? scalar::Neg(imaginary) : imaginary;
  }
}

template <class T>
static void Split(const Place& place, const SplitPairsArgs<T>& args) {
  const int64_t count = args.lines.Count() * args.length;
  if (count == 0) return;
  Launch(place, count, &SplitKernel<T>,
         {args.pairs, scalar::DeviceLoops(args.lines), count, args.length, args.step, args.part_step, args.conjugate,
          args.real, args.imaginary, args.lines_each, args.line_step, args.matrix_step});
}

/// A pair by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) JoinKernel(const __grid_constant__ JoinProductsArgs<T> args) {
  const int64_t count = args.matrices * args.rows * args.columns, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += num_threads) {
    int64_t matrix = i;
    const int64_t column = scalar::TakeRemainder(matrix, args.columns), row = scalar::TakeRemainder(matrix, args.rows);
    const T* const ac = args.products + (matrix * 2 * args.rows + row) * 2 * args.columns + column;
    const T* const bc = ac + args.rows * 2 * args.columns;
    T* const to = args.pairs + matrix * args.matrix_step + row * args.row_step + 2 * column;
    to[0] = scalar::Sub(ac[0], bc[args.columns]);
    to[1] = scalar::Add(ac[args.columns], bc[0]);
  }
}

template <class T>
static void Join(const Place& place, const JoinProductsArgs<T>& args) {
  Launch(place, args.matrices * args.rows * args.columns, &JoinKernel<T>, args);
}

/// The real parts of an operand above the imaginary ones, each a row of k.
template <class T>
static const T* Stacked(const Place& place, const typename ComplexTilesArgs<T>::Operand& x, int64_t k,
                        OpScratch& scratch, Loops& batch) {
  const int64_t size = x.length * k, matrices = x.batch.Count();
  T* const data = scratch.Get<T>(2 * size * matrices);
  SplitPairsArgs<T> args{};
  args.pairs = x.pairs;
  args.lines = x.batch;
  args.lines.Append(x.length, x.step);
  args.length = k, args.step = x.k_step, args.part_step = 1, args.conjugate = x.conjugate;
  args.real = data, args.imaginary = data + size;
  args.lines_each = x.length, args.line_step = k, args.matrix_step = 2 * size;
  Split(place, args);
  if (x.batch.shape.size() > 0) batch.Append(matrices, 2 * size);
  return data;
}

/// As products of real matrices.
template <class T>
static void Run(const Place& place, const ComplexTilesArgs<T>& args) {
  const int64_t rows = args.a.length, columns = args.b.length;
  OpScratch scratch(place);
  T* const products = scratch.Get<T>(4 * rows * columns * args.batch);
  MmArgs product{};
  product.m = 2 * rows, product.n = 2 * columns, product.k = args.k, product.batch = args.batch;
  product.dtype = sizeof(T) == 8 ? DType::kFloat64 : DType::kFloat32;
  product.a = Stacked<T>(place, args.a, args.k, scratch, product.a_batch);
  product.a_row_stride = args.k, product.a_col_stride = 1;
  product.b = Stacked<T>(place, args.b, args.k, scratch, product.b_batch);
  product.b_row_stride = 1, product.b_col_stride = args.k;
  product.c = products, product.order = args.order;
  MmKernel(place, product);
  Join(place, JoinProductsArgs<T>{products, args.batch, rows, columns, args.output, 2 * columns, 2 * rows * columns});
}

REPDL_CUDA_KERNEL(ComplexTilesKernel, ComplexTilesArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(ComplexTilesKernel, ComplexTilesArgs<double>) { Run(place, args); }
REPDL_CUDA_KERNEL(SplitPairsKernel, SplitPairsArgs<float>) { Split(place, args); }
REPDL_CUDA_KERNEL(SplitPairsKernel, SplitPairsArgs<double>) { Split(place, args); }
REPDL_CUDA_KERNEL(JoinProductsKernel, JoinProductsArgs<float>) { Join(place, args); }
REPDL_CUDA_KERNEL(JoinProductsKernel, JoinProductsArgs<double>) { Join(place, args); }

}  // namespace repdl::cuda
