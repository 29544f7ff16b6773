// SPDX-License-Identifier: MIT
// The walk is for either side, and the visitor here for the host.
#pragma nv_diag_suppress 20011, 20014

#include "drivers/contiguous.h"
#include "ops/attention/attention_block_cuda.h"

namespace repdl::cuda {

/// What the queries of a block add to the gradients by keys, or by values: the products of `left`, its slopes or p, and
/// `right`, its q or the gradients by its results.
template <class T>
struct ByQueriesArgs {
  QueryBlock<T> block;
  const T* left;
  HeadMatrices<T> right;  // from the block's first query on
  int64_t width;
  T* terms;  // (heads, keys, width)
};

/// The terms of queries that lack a key are +0 times something: nothing, or a NaN that must not be there.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock)
    LeaveOutQueriesKernel(const __grid_constant__ ByQueriesArgs<T> args) {
  const QueryBlock<T>& block = args.block;
  const int64_t count = block.NumHeads() * block.n * args.width, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < count; at += num_threads) {
    const T value = args.terms[at];
    if (value == value) continue;
    int64_t head = at;
    const int64_t e = scalar::TakeRemainder(head, args.width), j = scalar::TakeRemainder(head, block.n);
    if (j <= block.first) continue;
    const int64_t absent = j - block.first < block.rows ? j - block.first : block.rows;
    const T* const right = block.At(args.right, head) + e * args.right.col_stride;
    args.terms[at] = Dot(block.rows, block.args.order, args.left + head * block.rows * block.n + j, block.n, right,
                         args.right.row_stride, absent);
  }
}

/// sums[i] = terms[i] + sums[i].
template <class T>
struct MeetArgs {
  const T* terms;
  T* sums;
  int64_t count;
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) MeetKernel(const __grid_constant__ MeetArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.count; i += num_threads) {
    args.sums[i] = scalar::Add(args.terms[i], args.sums[i]);
  }
}

/// Sums over the heads of a group: terms (groups, group, size), sums (groups, size).
template <class T>
struct GroupSumArgs {
  const T* terms;
  int64_t groups, group, size;
  Order order;
  T* sums;
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) SumOverGroupKernel(const __grid_constant__ GroupSumArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.groups * args.size; at += num_threads) {
    int64_t group = at;
    const T* const terms = args.terms + scalar::TakeRemainder(group, args.size);
    const scalar::ThreadRow<T> row{{args.group, args.order}};
    args.sums[at] =
        row.Sum([&](scalar::RowPlace head) { return terms[(group * args.group + head.index) * args.size]; });
  }
}

/// The gradients, block by block of queries: a visitor of the walk over the blocks, whose value is what the terms of the
/// queries of every head add up to, for all keys and values. A block is a node of the tree, so that no more of the scores
/// than its own is kept.
template <class T>
class GradientsVisitor {
 public:
  GradientsVisitor(const Place& place, const AttentionArgs<T>& args, int64_t rows)
      : place_(place), args_(args), scratch_(place), heads_(args.batch * args.heads) {
    q_ = scratch_.Get<T>(heads_ * rows * args.width);
    p_ = scratch_.Get<T>(heads_ * rows * args.keys);
    slopes_ = scratch_.Get<T>(heads_ * rows * args.keys);
    result_ = scratch_.Get<T>(heads_ * rows * args.width);
    value_ = NewSums();
  }

  void Chain(int64_t begin, int64_t end) {
    QueryBlock<T> block = BlockOf(args_, begin, end - begin);
    block.n = args_.keys;
    block.q = q_, block.p = p_, block.slopes = slopes_, block.result = result_;
    HeadMatrices<T> grads = args_.grad_output;
    if (grads.data != nullptr) grads.data += begin * grads.row_stride;
    MakeScores(place_, block);
    Multiply(place_, args_, args_.value_width, OfHeads(args_, grads, block.rows, /*is_shared=*/false),
             OfHeads(args_, args_.value, block.n, /*is_shared=*/true), slopes_);
    RunRows(place_, block);
    const auto keys = Transposed(OfHeads(args_, args_.key, block.n, /*is_shared=*/true), args_.width);
    MultiplyGroups(place_, block, block.n, slopes_, keys, result_);
    FinishByKeys(place_, ByKeysArgs<T>{block, slopes_, args_.key, args_.width, args_.scale, /*has_factor=*/true,
                                       args_.grad_query});
    const int64_t row = args_.width, head = block.rows * row;
    AddTerms({block, slopes_, {q_, args_.heads * head, head, row, 1}, args_.width, value_});
    AddTerms({block, p_, grads, args_.value_width, value_ + heads_ * args_.keys * args_.width});
  }
  void TakeIn(int level) {
    if (NumSums() > 0) Launch(place_, NumSums(), &MeetKernel<T>, MeetArgs<T>{waiting_[level], value_, NumSums()});
  }
  void Park(int level) {
    if (waiting_[level] == nullptr) waiting_[level] = NewSums();
    std::swap(waiting_[level], value_);
  }
  void End() {
    SumOverGroup(value_, args_.width, args_.grad_key);
    SumOverGroup(value_ + heads_ * args_.keys * args_.width, args_.value_width, args_.grad_value);
  }

 private:
  int64_t NumSums() const { return heads_ * args_.keys * (args_.width + args_.value_width); }
  T* NewSums() { return scratch_.Get<T>(NumSums()); }

  void AddTerms(const ByQueriesArgs<T>& args) {
    const QueryBlock<T>& block = args.block;
    const int64_t count = heads_ * block.n * args.width;
    if (count == 0) return;
    Multiply(place_, args_, block.rows, Transposed(OfBlock(block, args.left, block.n), block.n),
             Transposed(OfHeads(args_, args.right, block.rows, /*is_shared=*/false), args.width), args.terms);
    if (args_.is_causal) Launch(place_, count, &LeaveOutQueriesKernel<T>, args);
  }
  void SumOverGroup(const T* terms, int64_t width, T* sums) {
    const int64_t groups = args_.batch * args_.key_heads, size = args_.keys * width;
    if (groups * size == 0) return;
    Launch(place_, groups * size, &SumOverGroupKernel<T>,
           GroupSumArgs<T>{terms, groups, args_.heads / args_.key_heads, size, args_.order, sums});
  }

  const Place& place_;
  const AttentionArgs<T>& args_;
  OpScratch scratch_;
  const int64_t heads_;
  T *q_, *p_, *slopes_, *result_, *value_;
  T* waiting_[kMaxLevels] = {};
};

/// How many queries of each head a block has: whole chains, a power of two of them.
template <class T>
static int64_t BlockRows(const AttentionArgs<T>& args) {
  if (args.order == Order::kSequential) return args.queries;  // there is one chain
  int64_t rows = kProductChunk;
  const int64_t scores = 2 * args.batch * args.heads * std::max<int64_t>(args.keys, 1);  // of a query, and their slopes
  while (rows < args.queries && 2 * rows * scores <= kMaxScores) rows *= 2;
  return rows;
}

template <class T>
static void FillGradients(const Place& place, const AttentionArgs<T>& args) {
  if (args.queries == 0 || args.heads == 0) {
    const int64_t keys = args.batch * args.key_heads * args.keys;
    FillWith(place, args.grad_key, keys * args.width, T{0});
    return FillWith(place, args.grad_value, keys * args.value_width, T{0});
  }
  const int64_t rows = BlockRows(args);
  GradientsVisitor<T> visitor(place, args, std::min(rows, args.queries));
  WalkChunks(Chunks(args.queries, rows), visitor);
}

REPDL_CUDA_KERNEL(AttentionGradKernel, AttentionArgs<float>) { FillGradients(place, args); }
REPDL_CUDA_KERNEL(AttentionGradKernel, AttentionArgs<double>) { FillGradients(place, args); }

}  // namespace repdl::cuda
