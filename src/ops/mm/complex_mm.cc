// SPDX-License-Identifier: MIT
#include "repdl/ops/mm.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_scratch.h"
#include "base/pairs.h"
#include "drivers/contiguous.h"
#include "ops/mm/complex_mm_kernel.h"
#include "ops/mm/mm_kernel.h"
#include "repdl/threads.h"

namespace repdl {
namespace {

/// Matrices of pairs, `length` × k; those of mat2 transposed, so that both operands are alike.
struct Operand {
  const TensorView* tensor;
  int length_dim, k_dim;
  bool conjugate;

  int rank() const { return tensor->rank(); }
  bool is_batch() const { return rank() > 3; }
  int64_t length() const { return tensor->shape[length_dim]; }
  int64_t k() const { return tensor->shape[k_dim]; }
};

Operand Left(const TensorView& input, bool conjugate) {
  return {&input, input.rank() - 3, input.rank() - 2, conjugate};
}
Operand Right(const TensorView& mat2, bool conjugate) { return {&mat2, mat2.rank() - 2, mat2.rank() - 3, conjugate}; }

IntList BatchOf(const TensorView& tensor) { return IntList(std::span(tensor.shape.begin(), tensor.shape.end() - 3)); }

/// Shape of the output.
IntList Check(const TensorView& input, const TensorView& mat2) {
  const ArgName name_a{"complex_mm", "input"}, name_b{"complex_mm", "mat2"};
  CheckPairs(name_a, input, input);
  CheckPairs(name_b, mat2, input);
  CheckRank(name_a, input, 3, kMaxRank, "(…, m, k, 2)");
  CheckRank(name_b, mat2, 3, kMaxRank, "(…, k, n, 2)");
  const Operand a = Left(input, false), b = Right(mat2, false);
  REPDL_CHECK(a.k() == b.k(), name_b, " of shape ", Name(mat2.shape), " has ", b.k(),
              " rows to multiply, but input of shape ", Name(input.shape), " has ", a.k(), " columns");
  if (a.is_batch() && b.is_batch()) {
    REPDL_CHECK(BatchOf(input) == BatchOf(mat2), name_b, " of shape ", Name(mat2.shape),
                " must have the batch dimensions of input, ", Name(input.shape), ", or none; use expand()");
  }
  IntList shape = BatchOf(b.is_batch() ? mat2 : input);
  shape.Append(a.length());
  shape.Append(b.length());
  shape.Append(2);
  return shape;
}

/// Real matrices of 2 length × k: the real parts above the imaginary ones.
template <class T>
struct Stacked {
  const T* data = nullptr;
  int64_t row_stride = 0, col_stride = 0, matrix_step = 0;

  Loops Batch(int64_t matrices) const {
    Loops loops;
    if (matrix_step != 0) loops.Append(matrices, matrix_step);
    return loops;
  }
};

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Some rows of some matrices of an operand. One matrix that serves a batch is split once.
template <class T>
Stacked<T> Split(const Operand& x, Range matrices, Range rows, OpScratch& scratch) {
  const int64_t length = rows.size(), k = x.k();
  if (k == 0) return {};
  const IntList& strides = x.tensor->strides;
  const int64_t row_step = strides[x.length_dim], k_step = strides[x.k_dim];
  // Along what lies side by side: rows of k, or columns of both parts.
  const bool along_k = k == 1 || length == 1 ? length == 1 : std::abs(k_step) <= std::abs(row_step);
  const int64_t count = x.is_batch() ? matrices.size() : 1;
  T* const data = scratch.Get<T>(2 * length * k * count);

  SplitPairsArgs<T> args{};
  args.length = along_k ? k : length;
  args.step = along_k ? k_step : row_step;
  args.part_step = strides[x.rank() - 1];
  args.conjugate = x.conjugate;
  args.lines_each = along_k ? length : k;
  args.line_step = along_k ? k : 2 * length;
  args.matrix_step = 2 * length * k;
  Loops batch;
  for (int dim = 0; dim < x.rank() - 3; ++dim) batch.Append(x.tensor->shape[dim], strides[dim]);
  const T* const first = x.tensor->Data<T>() + rows.begin * row_step;
  // A range of matrices is no nest of loops, unless the batch is one loop or the range is all of it.
  const bool whole = count == batch.Count();
  const bool at_once = whole || batch.shape.size() == 1;
  const int64_t runs = at_once ? 1 : count;
  for (int64_t run = 0; run < runs; ++run) {
    args.pairs = first + (x.is_batch() ? batch.Offset(matrices.begin + run) : 0);
    args.lines = {};
    if (whole) {
      args.lines = batch;
    } else if (at_once) {
      args.lines.Append(count, batch.strides[0]);
    }
    args.lines.Append(args.lines_each, along_k ? row_step : k_step);
    args.real = data + run * args.matrix_step;
    args.imaginary = args.real + (along_k ? length * k : length);
    SplitPairsKernel(scratch.place(), args);
  }
  return {data, along_k ? k : 1, along_k ? 1 : 2 * length, x.is_batch() ? args.matrix_step : 0};
}

/// The products of some rows of `a` and some columns of `b`, as a product of real matrices.
template <class T>
void Multiply(const Place& place, const Stacked<T>& a, const Stacked<T>& b, int64_t rows, int64_t columns, int64_t k,
              int64_t matrices, Order order, T* pairs, int64_t row_step, int64_t matrix_step) {
  OpScratch scratch(place);
  T* const products = scratch.Get<T>(4 * rows * columns * matrices);
  MmArgs args{};
  args.m = 2 * rows, args.n = 2 * columns, args.k = k;
  args.batch = matrices;
  args.dtype = kDTypeOf<T>;
  args.a = a.data, args.a_row_stride = a.row_stride, args.a_col_stride = a.col_stride;
  args.b = b.data, args.b_row_stride = b.col_stride, args.b_col_stride = b.row_stride;
  args.a_batch = a.Batch(matrices), args.b_batch = b.Batch(matrices);
  args.c = products;
  args.order = order;
  MmKernel(place, args);
  JoinProductsKernel(place, JoinProductsArgs<T>{products, matrices, rows, columns, pairs, row_step, matrix_step});
}

/// An operand of few rows has vectors of its own kernel, which takes matrices of real numbers.
constexpr int64_t kFewRows = 2;

/// The operand as it is, or a copy where its parts do not lie side by side.
template <class T>
typename ComplexTilesArgs<T>::Operand InPairs(const Operand& x, OpScratch& scratch) {
  const TensorView& tensor = x.tensor->strides[x.rank() - 1] == 1 ? *x.tensor : Contiguous(*x.tensor, scratch);
  typename ComplexTilesArgs<T>::Operand pairs{tensor.Data<const T>(),  x.length(),  tensor.strides[x.length_dim],
                                              tensor.strides[x.k_dim], x.conjugate, {}};
  if (x.k() == 0) {  // an operand without elements may lie nowhere: do not step through it
    pairs.step = pairs.k_step = 0;
    return pairs;
  }
  for (int dim = 0; dim < x.rank() - 3; ++dim) pairs.batch.Append(tensor.shape[dim], tensor.strides[dim]);
  return pairs;
}

/// A product with an operand of few rows, block by block of the longer side, so that what is split is still in the cache when it is multiplied.
template <class T>
void RunFewRows(const Place& place, Operand a, Operand b, int64_t batch, Order order, T* output) {
  // The parts of a column come as a row, whose products lie side by side. Both ways give the same bits: products and the
  // sum of the imaginary part commute.
  if (b.length() == 1) std::swap(a, b);
  const int64_t m = a.length(), n = b.length(), k = a.k();
  const bool cut_rows = m >= n;
  const int64_t longer = std::max(m, n), shorter = std::min(m, n);
  constexpr int64_t kBytes = 1 << 20, kMostPacked = 512;  // the kernel packs the shorter side once a block
  const int64_t budget = kBytes / static_cast<int64_t>(sizeof(T)) / (2 * (k + 2 * shorter)) * GetNumThreads();
  // A device has no use for blocks.
  const int64_t block = place.IsCpu() ? std::max({budget, std::min(kMostPacked, 16 * shorter), int64_t{1}}) : longer;
  const int64_t group = place.IsCpu() ? std::max<int64_t>(block / longer, 1) : batch;

  const Operand &cut = cut_rows ? a : b, &whole = cut_rows ? b : a;
  OpScratch scratch(place);
  Stacked<T> whole_parts{};
  if (!whole.is_batch()) whole_parts = Split<T>(whole, {0, 1}, {0, shorter}, scratch);
  for (int64_t first = 0; first < batch; first += group) {
    const Range matrices{first, std::min(first + group, batch)};
    OpScratch of_group(place);
    if (whole.is_batch()) whole_parts = Split<T>(whole, matrices, {0, shorter}, of_group);
    for (int64_t begin = 0; begin < longer; begin += block) {
      const Range range{begin, std::min(begin + block, longer)};
      OpScratch of_block(place);
      const Stacked<T> cut_parts = Split<T>(cut, matrices, range, of_block);
      T* const pairs = output + 2 * (first * m * n + begin * (cut_rows ? n : 1));
      if (cut_rows) {
        Multiply(place, cut_parts, whole_parts, range.size(), n, k, matrices.size(), order, pairs, 2 * n, 2 * m * n);
      } else {
        Multiply(place, whole_parts, cut_parts, m, range.size(), k, matrices.size(), order, pairs, 2 * n, 2 * m * n);
      }
    }
  }
}

}  // namespace

Specs InferComplexMm(const TensorView& input, const TensorView& mat2, bool, bool, Order) {
  return {{input.dtype, Check(input, mat2)}};
}

void ComplexMm(const TensorView& input, const TensorView& mat2, bool conjA, bool conjB, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("complex_mm", InferComplexMm(input, mat2, conjA, conjB, order), {&output}, input);
  const Place place = PlaceOf("complex_mm", input);
  if (output.numel() == 0) return;
  const Operand a = Left(input, conjA), b = Right(mat2, conjB);
  const int64_t batch = output.numel() / (2 * a.length() * b.length());
  DispatchReal(input.dtype, [&]<class T>() {
    if (std::min(a.length(), b.length()) <= kFewRows) return RunFewRows<T>(place, a, b, batch, order, output.Data<T>());
    OpScratch scratch(place);
    ComplexTilesKernel(place, ComplexTilesArgs<T>{InPairs<T>(a, scratch), InPairs<T>(b, scratch), a.k(), batch, order,
                                                  output.Data<T>()});
  });
}

}  // namespace repdl
