// SPDX-License-Identifier: MIT
#include "ops/attention/attention_block_cuda.h"

namespace repdl::cuda {

/// Queries of a head that go together, at least. Causal ones go few at a time, for the scores of all have the width that the
/// last one needs.
constexpr int64_t kMinQueries = 64, kMaxCausalQueries = 256;

template <class T>
static void Attend(const Place& place, const AttentionArgs<T>& args) {
  const int64_t heads = args.batch * args.heads;
  int64_t rows = std::max(kMaxScores / (heads * std::max<int64_t>(args.keys, 1)), kMinQueries);
  if (args.is_causal) rows = std::min(rows, kMaxCausalQueries);
  rows = std::min(rows, args.queries);
  OpScratch scratch(place);
  T* const q = scratch.Get<T>(heads * rows * args.width);
  T* const p = scratch.Get<T>(heads * rows * args.keys);
  T* const result = scratch.Get<T>(heads * rows * args.value_width);
  for (int64_t first = 0; first < args.queries; first += rows) {
    QueryBlock<T> block = BlockOf(args, first, std::min(rows, args.queries - first));
    block.n = block.KeysOf(first + block.rows - 1);
    block.q = q, block.p = p, block.result = result;
    MakeScores(place, block);
    RunRows(place, block);
    const auto values = Transposed(OfHeads(args, args.value, block.n, /*is_shared=*/true), args.value_width);
    MultiplyGroups(place, block, block.n, p, values, result);
    FinishByKeys(place, ByKeysArgs<T>{block, p, args.value, args.value_width, T{1}, /*has_factor=*/false, args.output});
  }
}

REPDL_CUDA_KERNEL(AttentionKernel, AttentionArgs<float>) { Attend(place, args); }
REPDL_CUDA_KERNEL(AttentionKernel, AttentionArgs<double>) { Attend(place, args); }

}  // namespace repdl::cuda
