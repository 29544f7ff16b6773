// SPDX-License-Identifier: MIT
// Attention and its gradient on CUDA, a block of queries at a time, those of all heads: their scores are products of
// matrices, a text of rows makes probabilities of them, and these go into products again.
#pragma once

#include <algorithm>
#include <utility>

#include "drivers/matrix_product_cuda.h"
#include "drivers/philox_cuda.h"
#include "drivers/row_cuda.h"
#include "drivers/row_functions_cuda.h"
#include "ops/attention/attention_kernel.h"
#include "ops/mm/mm_kernel.h"

namespace repdl::scalar {

#include "ops/philox/philox.lane.h"
#include "ops/softmax/softmax.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// Scores that are kept at a time, about.
inline constexpr int64_t kMaxScores = int64_t{1} << 26;

/// Queries [first, first + rows) of every head, and how many keys any of them has. Matrices of the block lie side by side,
/// one a head.
template <class T>
struct QueryBlock {
  AttentionArgs<T> args;  // without its dropout
  bool draws;
  DrawnDropout<T> drawn;
  int64_t first, rows, n;
  T* q;       // rows x width, times the scale
  T* p;       // rows x n: scores, then probabilities after dropout
  T* slopes;  // the same of the gradient: those by the probabilities, then by the scores
  T* result;  // rows x the width of the result

  REPDL_LANE int64_t NumHeads() const { return args.batch * args.heads; }
  REPDL_LANE int64_t KeysOf(int64_t i) const { return args.is_causal && i + 1 < args.keys ? i + 1 : args.keys; }
  /// The matrix of a head of the batch.
  REPDL_LANE const T* At(const HeadMatrices<T>& x, int64_t head) const {
    return x.data + head / args.heads * x.batch_stride + head % args.heads * x.head_stride;
  }
  /// The same of keys or values.
  REPDL_LANE const T* OfKeyHead(const HeadMatrices<T>& x, int64_t head) const {
    const int64_t key_head = head % args.heads / (args.heads / args.key_heads);
    return x.data + head / args.heads * x.batch_stride + key_head * x.head_stride;
  }
  /// An element of the dropout mask.
  REPDL_LANE T Dropout(int64_t head, int64_t i, int64_t j) const {
    const HeadMatrices<T>& mask = args.dropout_mask;
    if (mask.data != nullptr) return At(mask, head)[i * mask.row_stride + j * mask.col_stride];
    const uint64_t word = drawn.stream.offset + static_cast<uint64_t>((head * args.queries + i) * args.keys + j);
    const scalar::PhiloxBlock words(drawn.stream, word / 4);
    const float kept = scalar::PhiloxBernoulliElement{drawn.kept}(words[static_cast<int>(word % 4)]);
    return scalar::Mul(static_cast<T>(kept), drawn.factor);
  }
  REPDL_LANE bool Drops() const { return draws || args.dropout_mask.data != nullptr; }
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) ScaleQueriesKernel(const __grid_constant__ QueryBlock<T> block) {
  const int64_t width = block.args.width, count = block.NumHeads() * block.rows * width;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t head = at;
    const int64_t e = scalar::TakeRemainder(head, width), i = block.first + scalar::TakeRemainder(head, block.rows);
    const HeadMatrices<T>& query = block.args.query;
    block.q[at] = scalar::Mul(block.At(query, head)[i * query.row_stride + e * query.col_stride], block.args.scale);
  }
}

/// Scores plus the mask, if there is one.
template <class T>
struct MaskedScores {
  const T *scores, *mask;
  int64_t mask_stride;

  REPDL_LANE T operator()(scalar::RowPlace at) const {
    const T score = scores[at.index];
    return mask == nullptr ? score : scalar::Add(score, mask[at.index * mask_stride]);
  }
};

/// Row r of the block: probabilities of scores; and of slopes by them, if there are any, those by the scores. Keys that the
/// query does not have get +0.
struct AttendByRow {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& all, int64_t r, const QueryBlock<T>& block) const {
    int64_t head = r;
    const int64_t i = block.first + scalar::TakeRemainder(head, block.rows), own = block.KeysOf(i);
    const HeadMatrices<T>& mask = block.args.attn_mask;
    const scalar::RowNumbers<T> p{block.p + r * block.n}, slopes{block.slopes + r * block.n};
    const MaskedScores<T> scores{p.data, mask.data == nullptr ? nullptr : block.At(mask, head) + i * mask.row_stride,
                                 mask.col_stride};
    Row row = all;
    row.n = own;
    scalar::SoftmaxRowOrZero(row, scores, p);
    const bool has_slopes = block.slopes != nullptr;
    if (has_slopes) {
      if (block.Drops()) {
        row.Each(
            [&](scalar::RowPlace at) { slopes.Put(at, scalar::Mul(slopes(at), block.Dropout(head, i, at.index))); });
      }
      scalar::SoftmaxGradRow(row, slopes, p, slopes);
    }
    if (block.Drops()) {
      row.Each([&](scalar::RowPlace at) { p.Put(at, scalar::Mul(p(at), block.Dropout(head, i, at.index))); });
    }
    all.Each([&](scalar::RowPlace at) {
      if (at.index < own) return;
      p.Put(at, T{0});
      if (has_slopes) slopes.Put(at, T{0});
    });
  }
};

/// A chain of products for the walk: of numbers a and b that are steps apart, from term `first` on.
template <class T>
class DotVisitor {
 public:
  REPDL_LANE DotVisitor(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t first, T* waiting)
      : a_(a), b_(b), a_step_(a_step), b_step_(b_step), first_(first), waiting_(waiting) {}

  REPDL_LANE void Chain(int64_t begin, int64_t end) {
    value_ = 0;
    for (int64_t k = begin < first_ ? first_ : begin; k < end; ++k) {
      value_ = scalar::Fma(a_[k * a_step_], b_[k * b_step_], value_);
    }
  }
  REPDL_LANE void TakeIn(int level) { value_ = scalar::Add(waiting_[level], value_); }
  REPDL_LANE void Park(int level) { waiting_[level] = value_; }
  REPDL_LANE void End() {}
  REPDL_LANE T value() const { return value_; }

 private:
  const T *a_, *b_;
  int64_t a_step_, b_step_, first_;
  T value_ = 0;
  T* waiting_;
};

template <class T>
__device__ T Dot(int64_t k, Order order, const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t first) {
  T waiting[kMaxLevels];
  DotVisitor<T> visitor(a, a_step, b, b_step, first, waiting);
  WalkChunks(Chunks(k, order == Order::kBlocked ? kProductChunk : k > 0 ? k : 1), visitor);
  return visitor.value();
}

/// The results of a block as products of `left`, its p or slopes, and `right`, values or keys: those of queries that have
/// fewer keys than the block lack some terms.
template <class T>
struct ByKeysArgs {
  QueryBlock<T> block;
  const T* left;
  HeadMatrices<T> right;
  int64_t width;
  T factor;
  bool has_factor;
  T* to;  // (heads, queries, width)
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) FinishByKeysKernel(const __grid_constant__ ByKeysArgs<T> args) {
  const QueryBlock<T>& block = args.block;
  const int64_t count = block.NumHeads() * block.rows * args.width, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    int64_t row = at;
    const int64_t e = scalar::TakeRemainder(row, args.width);
    int64_t head = row;
    const int64_t i = block.first + scalar::TakeRemainder(head, block.rows), own = block.KeysOf(i);
    T value = block.result[at];
    // Terms of +0 times something behind its own change nothing unless they meet an infinity or a NaN, or a sum of -0.
    if (own < block.n && !(value < T{0}) && !(value > T{0})) {
      value = Dot(own, block.args.order, args.left + row * block.n, 1,
                  block.OfKeyHead(args.right, head) + e * args.right.col_stride, args.right.row_stride, 0);
    }
    if (args.has_factor) value = scalar::Mul(value, args.factor);
    args.to[(head * block.args.queries + i) * args.width + e] = value;
  }
}

/// Matrices of a block, one a head.
template <class T>
ProductOperand<T> OfBlock(const QueryBlock<T>& block, const T* data, int64_t columns) {
  ProductOperand<T> x{data, block.rows, columns, 1, {}, {}};
  x.batch.rank = 1;
  x.batch.shape[0] = block.NumHeads(), x.batch.strides[0] = block.rows * columns;
  return x;
}

/// A matrix of a tensor for each head; the heads of a group may share one.
template <class T>
ProductOperand<T> OfHeads(const AttentionArgs<T>& args, const HeadMatrices<T>& x, int64_t lines, bool is_shared) {
  const int64_t group = args.heads / args.key_heads;
  ProductOperand<T> operand{x.data, lines, x.row_stride, x.col_stride, {}, {}};
  operand.batch.rank = 3;
  const int64_t shape[] = {args.batch, args.key_heads, group};
  const int64_t strides[] = {x.batch_stride, is_shared ? x.head_stride : group * x.head_stride,
                             is_shared ? 0 : x.head_stride};
  std::copy_n(shape, 3, operand.batch.shape);
  std::copy_n(strides, 3, operand.batch.strides);
  return operand;
}

/// The same operand with its columns as lines.
template <class T>
ProductOperand<T> Transposed(ProductOperand<T> x, int64_t columns) {
  x.lines = columns;
  std::swap(x.line_stride, x.k_stride);
  return x;
}

/// c = a b over k terms, for each head.
template <class T>
void Multiply(const Place& place, const AttentionArgs<T>& args, int64_t k, const ProductOperand<T>& a,
              const ProductOperand<T>& b, T* c) {
  ProductCall<T> call{};
  call.m = a.lines, call.n = b.lines, call.k = k, call.batch = args.batch * args.heads;
  if (call.m == 0 || call.n == 0) return;
  call.chain = ChainLength(args.order, k);
  call.a = a, call.b = b, call.c = c;
  Product(place, call);
}

/// The same, where heads that share b are rows of one product: with few queries they make a tile.
template <class T>
void MultiplyGroups(const Place& place, const QueryBlock<T>& block, int64_t k, const T* left, ProductOperand<T> b,
                    T* c) {
  const AttentionArgs<T>& args = block.args;
  ProductCall<T> call{};
  call.m = args.heads / args.key_heads * block.rows, call.n = b.lines, call.k = k,
  call.batch = args.batch * args.key_heads;
  if (call.n == 0) return;
  call.chain = ChainLength(args.order, k);
  call.a = {left, call.m, k, 1, {}, {}};
  call.a.batch.rank = 1, call.a.batch.shape[0] = call.batch, call.a.batch.strides[0] = call.m * k;
  b.batch.rank = 2;  // a group is one matrix
  call.b = b, call.c = c;
  Product(place, call);
}

template <class T>
QueryBlock<T> BlockOf(const AttentionArgs<T>& args, int64_t first, int64_t rows) {
  AttentionArgs<T> rest = args;
  rest.dropout.reset();
  const DrawnDropout<T> none{PhiloxStream(0, 0, 0), {}, T{0}};
  return {rest,   args.dropout.has_value(), args.dropout.value_or(none), first, rows, 0, nullptr, nullptr, nullptr,
          nullptr};
}

/// Scores of a block, of which the rows make what they make.
template <class T>
void RunRows(const Place& place, const QueryBlock<T>& block) {
  ForSharedRows<T, AttendByRow>(
      place, RowsArgs<QueryBlock<T>>{block.NumHeads() * block.rows, block.n, block.args.order, block});
}

template <class T>
void MakeScores(const Place& place, const QueryBlock<T>& block) {
  const AttentionArgs<T>& args = block.args;
  if (args.width > 0) Launch(place, block.NumHeads() * block.rows * args.width, &ScaleQueriesKernel<T>, block);
  MultiplyGroups(place, block, args.width, block.q, OfHeads(args, args.key, block.n, /*is_shared=*/true), block.p);
}

/// Results of which the block has the product.
template <class T>
void FinishByKeys(const Place& place, const ByKeysArgs<T>& args) {
  const int64_t count = args.block.NumHeads() * args.block.rows * args.width;
  if (count > 0) Launch(place, count, &FinishByKeysKernel<T>, args);
}

}  // namespace repdl::cuda
