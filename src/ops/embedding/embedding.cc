// SPDX-License-Identifier: MIT
#include "repdl/ops/embedding.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "drivers/indices.h"
#include "ops/embedding/embedding_kernel.h"
#include "ops/index_add/index_add_kernel.h"

namespace repdl {
namespace {

void CheckIndices(const ArgName& name, const TensorView& indices, const TensorView& like) {
  CheckDType(name, indices, DType::kInt64);
  CheckSameDevice(name, indices, like);
}

/// Of embedding_bag and its gradient.
void CheckBags(std::string_view op, const TensorView& indices, const TensorView& offset2bag,
               const std::optional<TensorView>& per_sample_weights, const TensorView& like) {
  CheckIndices({op, "indices"}, indices, like);
  CheckRank({op, "indices"}, indices, 1, 1, "(n)");
  CheckIndices({op, "offset2bag"}, offset2bag, like);
  CheckShape({op, "offset2bag"}, offset2bag, indices.shape);
  if (per_sample_weights) CheckFloat({op, "per_sample_weights"}, per_sample_weights, indices.shape, like);
}

/// Whether it is "mean", and not "sum".
bool IsMean(std::string_view op, std::string_view mode) {
  REPDL_CHECK(mode == "sum" || mode == "mean", ArgName{op, "mode"}, " must be 'sum' or 'mean', got '", mode, "'");
  return mode == "mean";
}

Specs TableOf(std::string_view op, int64_t num_weights, int64_t width, DType dtype) {
  CheckRows({op, "num_weights"}, num_weights);
  return {{dtype, {num_weights, width}}};
}

/// The indices with -1 where they are left out.
const int64_t* WithoutPadding(const int64_t* indices, int64_t count, int64_t padding_idx, OpScratch& scratch) {
  if (padding_idx < 0) return indices;
  auto* const kept = scratch.Get<int64_t>(count);
  for (int64_t i = 0; i < count; ++i) kept[i] = indices[i] == padding_idx ? -1 : indices[i];
  return kept;
}

template <class T>
const T* Factors(const std::optional<TensorView>& per_sample_weights, OpScratch& scratch) {
  return per_sample_weights ? Contiguous(*per_sample_weights, scratch).Data<const T>() : nullptr;
}

/// For each index how often it comes.
template <class T>
T* CountsOf(const int64_t* indices, int64_t count, int64_t num_weights, OpScratch& scratch) {
  auto* const counts = scratch.Get<int64_t>(num_weights);
  std::fill(counts, counts + num_weights, int64_t{0});
  for (int64_t i = 0; i < count; ++i) ++counts[indices[i]];
  T* const of_each = scratch.Get<T>(count);
  for (int64_t i = 0; i < count; ++i) of_each[i] = static_cast<T>(counts[indices[i]]);
  return of_each;
}

}  // namespace

Specs InferEmbeddingGrad(const TensorView& grad_output, const TensorView& indices, int64_t num_weights, int64_t, bool) {
  const ArgName name{"embedding_grad", "grad_output"};
  CheckFloat(name, grad_output, grad_output);
  CheckRank(name, grad_output, 1, kMaxRank, "(…, width)");
  CheckIndices({"embedding_grad", "indices"}, indices, grad_output);
  const int64_t width = grad_output.shape[grad_output.rank() - 1];
  IntList shape = indices.shape;
  REPDL_CHECK(shape.size() + 1 == grad_output.rank(), name, " of shape ", Name(grad_output.shape),
              " must have one dimension more than the indices, ", Name(shape));
  shape.Append(width);
  CheckShape(name, grad_output, shape);
  return TableOf("embedding_grad", num_weights, width, grad_output.dtype);
}

void EmbeddingGrad(const TensorView& grad_output, const TensorView& indices, int64_t num_weights, int64_t padding_idx,
                   bool scale_grad_by_freq, Out grad_weight) {
  const FpEnvGuard guard;
  CheckOutputs("embedding_grad", InferEmbeddingGrad(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq),
               {&grad_weight}, grad_output);
  const Place place = PlaceOf("embedding_grad", grad_output);
  OpScratch scratch(place);
  const int64_t count = indices.numel();
  const int64_t* const rows = CheckedIndices({"embedding_grad", "indices"}, indices, num_weights, scratch);
  FillWithZero(place, grad_weight);
  if (grad_output.numel() == 0) return;
  const TensorView packed = Contiguous(grad_output, scratch);
  DispatchReal(grad_output.dtype, [&]<class T>() {
    T* factors = nullptr;
    if (scale_grad_by_freq) {
      factors = CountsOf<T>(rows, count, num_weights, scratch);
      for (int64_t i = 0; i < count; ++i) factors[i] = T{1} / factors[i];
    }
    IndexSumKernel(place, IndexSumArgs<T>{1, count, grad_weight.shape[1],
                                          WithoutPadding(rows, count, padding_idx, scratch), nullptr, factors, 1,
                                          nullptr, packed.Data<const T>(), count, grad_weight.Data<T>(), num_weights});
  });
}

Specs InferEmbeddingBag(const TensorView& weight, const TensorView& indices, const TensorView& offset2bag,
                        int64_t num_bags, std::string_view mode, const std::optional<TensorView>& per_sample_weights,
                        int64_t) {
  CheckFloat({"embedding_bag", "weight"}, weight, weight);
  CheckRank({"embedding_bag", "weight"}, weight, 2, 2, "(rows, width)");
  CheckBags("embedding_bag", indices, offset2bag, per_sample_weights, weight);
  IsMean("embedding_bag", mode);
  CheckRows({"embedding_bag", "num_bags"}, num_bags);
  return {{weight.dtype, {num_bags, weight.shape[1]}}, {DType::kInt64, {num_bags}}};
}

void EmbeddingBag(const TensorView& weight, const TensorView& indices, const TensorView& offset2bag, int64_t num_bags,
                  std::string_view mode, const std::optional<TensorView>& per_sample_weights, int64_t padding_idx,
                  Out output, Out bag_size) {
  const FpEnvGuard guard;
  CheckOutputs("embedding_bag",
               InferEmbeddingBag(weight, indices, offset2bag, num_bags, mode, per_sample_weights, padding_idx),
               {&output, &bag_size}, weight);
  const Place place = PlaceOf("embedding_bag", weight);
  OpScratch scratch(place);
  const int64_t count = indices.numel(), width = weight.shape[1];
  const int64_t* const rows = CheckedIndices({"embedding_bag", "indices"}, indices, weight.shape[0], scratch);
  const int64_t* const bags = CheckedIndices({"embedding_bag", "offset2bag"}, offset2bag, num_bags, scratch);
  const int64_t* to = bags;
  if (padding_idx >= 0) {
    auto* const kept = scratch.Get<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) kept[i] = rows[i] == padding_idx ? -1 : bags[i];
    to = kept;
  }
  auto* const sizes = bag_size.Data<int64_t>();
  std::fill(sizes, sizes + num_bags, int64_t{0});
  for (int64_t i = 0, begin = 0; i < count; begin = i) {  // a run at a time, as most bags lie side by side
    while (i < count && to[i] == to[begin]) ++i;
    if (to[begin] >= 0) sizes[to[begin]] += i - begin;
  }
  FillWithZero(place, output);
  if (output.numel() == 0 || count == 0) return;
  const TensorView table = Contiguous(weight, scratch);
  DispatchReal(weight.dtype, [&]<class T>() {
    const T* const factors = Factors<T>(per_sample_weights, scratch);
    IndexSumKernel(place, IndexSumArgs<T>{1, count, width, to, rows, factors, 1, nullptr, table.Data<const T>(),
                                          weight.shape[0], output.Data<T>(), num_bags});
    if (IsMean("embedding_bag", mode)) {
      DivideRowsKernel(place, DivideRowsArgs<T>{num_bags, width, sizes, output.Data<T>()});
    }
  });
}

Specs InferEmbeddingBagGrad(const TensorView& grad_output, const TensorView& indices, const TensorView& offset2bag,
                            const TensorView& bag_size, int64_t num_weights, std::string_view mode,
                            const std::optional<TensorView>& per_sample_weights, bool, int64_t) {
  CheckFloat({"embedding_bag_grad", "grad_output"}, grad_output, grad_output);
  CheckRank({"embedding_bag_grad", "grad_output"}, grad_output, 2, 2, "(bags, width)");
  CheckBags("embedding_bag_grad", indices, offset2bag, per_sample_weights, grad_output);
  CheckIndices({"embedding_bag_grad", "bag_size"}, bag_size, grad_output);
  CheckShape({"embedding_bag_grad", "bag_size"}, bag_size, {grad_output.shape[0]});
  IsMean("embedding_bag_grad", mode);
  return TableOf("embedding_bag_grad", num_weights, grad_output.shape[1], grad_output.dtype);
}

void EmbeddingBagGrad(const TensorView& grad_output, const TensorView& indices, const TensorView& offset2bag,
                      const TensorView& bag_size, int64_t num_weights, std::string_view mode,
                      const std::optional<TensorView>& per_sample_weights, bool scale_grad_by_freq, int64_t padding_idx,
                      Out grad_weight) {
  const FpEnvGuard guard;
  CheckOutputs("embedding_bag_grad",
               InferEmbeddingBagGrad(grad_output, indices, offset2bag, bag_size, num_weights, mode, per_sample_weights,
                                     scale_grad_by_freq, padding_idx),
               {&grad_weight}, grad_output);
  const Place place = PlaceOf("embedding_bag_grad", grad_output);
  OpScratch scratch(place);
  const int64_t count = indices.numel(), bags = grad_output.shape[0], width = grad_output.shape[1];
  const int64_t* const rows = CheckedIndices({"embedding_bag_grad", "indices"}, indices, num_weights, scratch);
  const int64_t* const from = CheckedIndices({"embedding_bag_grad", "offset2bag"}, offset2bag, bags, scratch);
  FillWithZero(place, grad_weight);
  if (grad_weight.numel() == 0 || count == 0) return;
  TensorView grad = Contiguous(grad_output, scratch);
  DispatchReal(grad_output.dtype, [&]<class T>() {
    if (IsMean("embedding_bag_grad", mode)) {
      const TensorView divided = scratch.New(grad.dtype, grad.shape);
      CopyElements(place, grad, divided);
      grad = divided;
      const auto* const sizes = Contiguous(bag_size, scratch).Data<const int64_t>();
      DivideRowsKernel(place, DivideRowsArgs<T>{bags, width, sizes, grad.Data<T>()});
    }
    const T* const factors = Factors<T>(per_sample_weights, scratch);
    const T* const divisors = scale_grad_by_freq ? CountsOf<T>(rows, count, num_weights, scratch) : nullptr;
    IndexSumKernel(place,
                   IndexSumArgs<T>{1, count, width, WithoutPadding(rows, count, padding_idx, scratch), from, factors, 1,
                                   divisors, grad.Data<const T>(), bags, grad_weight.Data<T>(), num_weights});
  });
}

}  // namespace repdl

REPDL_OPS(embedding,
          MakeOp<InferEmbeddingGrad, EmbeddingGrad, IndexSumKernel>(
              "embedding_grad", "grad_output, indices, num_weights, padding_idx=-1, scale_grad_by_freq=False",
              kFloat32Or64),
          MakeOp<InferEmbeddingBag, EmbeddingBag, DivideRowsKernel, IndexSumKernel>(
              "embedding_bag",
              "weight, indices, offset2bag, num_bags, mode='sum', per_sample_weights=None, padding_idx=-1",
              kFloat32Or64),
          MakeOp<InferEmbeddingBagGrad, EmbeddingBagGrad, DivideRowsKernel, IndexSumKernel>(
              "embedding_bag_grad",
              "grad_output, indices, offset2bag, bag_size, num_weights, mode='sum', "
              "per_sample_weights=None, scale_grad_by_freq=False, padding_idx=-1",
              kFloat32Or64))
