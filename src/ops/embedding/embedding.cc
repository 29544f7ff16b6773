// SPDX-License-Identifier: MIT
#include "repdl/ops/embedding.h"

#include <algorithm>

#include "base/check.h"
#include "base/device_memory.h"
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

/// Of embedding_bag and its gradient.
void CheckIndicesOfBags(std::string_view op, const TensorView& indices,
                        const std::optional<TensorView>& per_sample_weights, const TensorView& like) {
  CheckIntegers({op, "indices"}, indices, like);
  CheckRank({op, "indices"}, indices, 1, 1, "(n)");
  if (per_sample_weights) CheckFloat({op, "per_sample_weights"}, per_sample_weights, indices.shape, like);
}

enum class BagMode { kSum, kMean, kMax };

BagMode ParseMode(std::string_view op, std::string_view mode, const std::optional<TensorView>& per_sample_weights) {
  constexpr std::string_view kNames[] = {"sum", "mean", "max"};
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), mode);
  REPDL_CHECK(found != std::end(kNames), ArgName{op, "mode"}, " must be 'sum', 'mean' or 'max', got '", mode, "'");
  const auto parsed = static_cast<BagMode>(found - std::begin(kNames));
  REPDL_CHECK(parsed != BagMode::kMax || !per_sample_weights, ArgName{op, "per_sample_weights"},
              " must be None for mode 'max'");
  return parsed;
}

int64_t NumBags(const TensorView& offsets, bool include_last_offset) {
  return offsets.shape[0] - (include_last_offset ? 1 : 0);
}

/// The offsets. ValueError unless each index is in one of the bags.
const int64_t* CheckedOffsets(const ArgName& name, const TensorView& offsets, int64_t bags, int64_t count,
                              OpScratch& scratch) {
  REPDL_CHECK(bags > 0 || count == 0, name, " must have a bag for the ", count, " indices");
  const int64_t* const given = AsInt64(offsets, scratch);
  if (!scratch.place().IsCpu()) return given;  // nothing waits for a device: the kernel looks at them
  for (int64_t b = 0; b < offsets.numel(); ++b) {
    const int64_t least = b == 0 ? 0 : given[b - 1], most = b == 0 ? 0 : count;
    REPDL_CHECK(given[b] >= least && given[b] <= most, name, " must begin with 0, not fall and not exceed the ", count,
                " indices, got ", given[b], b == 0 ? "" : Message(" behind ", least));
  }
  return given;
}

/// The memory of an output of int64, or else of int32 other memory, which is copied to it in the end.
class IntegersOut {
 public:
  IntegersOut(const TensorView& output, OpScratch& scratch)
      : output_(output),
        data_(output.dtype == DType::kInt64 ? output.Data<int64_t>() : scratch.Get<int64_t>(output.numel())) {}

  int64_t* data() const { return data_; }
  void Finish(const Place& place) const {
    if (output_.dtype == DType::kInt64) return;
    if (place.IsCpu()) {
      std::copy_n(data_, output_.numel(), output_.Data<int32_t>());
    } else {
      internal::MemoryOf(place).narrow(place, data_, output_.numel(), output_.Data<int32_t>());
    }
  }

 private:
  TensorView output_;
  int64_t* data_;
};

Specs TableOf(std::string_view op, int64_t num_weights, int64_t width, DType dtype) {
  CheckRows({op, "num_weights"}, num_weights);
  return {{dtype, {num_weights, width}}};
}

/// What the indices that are left out are.
int64_t LeftOut(int64_t padding_idx) { return padding_idx < 0 ? kNoneLeftOut : padding_idx; }

template <class T>
const T* Factors(const std::optional<TensorView>& per_sample_weights, OpScratch& scratch) {
  return per_sample_weights ? Contiguous(*per_sample_weights, scratch).Data<const T>() : nullptr;
}

/// For each index how often it comes, or one over that.
template <class T>
const T* FrequenciesOf(const int64_t* indices, int64_t count, int64_t num_weights, bool is_inverse,
                       OpScratch& scratch) {
  T* const frequencies = scratch.Get<T>(count);
  FrequencyKernel(scratch.place(), FrequencyArgs<T>{count, num_weights, indices, is_inverse, frequencies});
  return frequencies;
}

}  // namespace

Specs InferEmbeddingGrad(const TensorView& grad_output, const TensorView& indices, int64_t num_weights, int64_t, bool) {
  const ArgName name{"embedding_grad", "grad_output"};
  CheckFloat(name, grad_output, grad_output);
  CheckRank(name, grad_output, 1, kMaxRank, "(…, width)");
  CheckIntegers({"embedding_grad", "indices"}, indices, grad_output);
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
    const T* const factors =
        scale_grad_by_freq ? FrequenciesOf<T>(rows, count, num_weights, /*is_inverse=*/true, scratch) : nullptr;
    IndexSumKernel(place, IndexSumArgs<T>{{1, count, grad_weight.shape[1], rows, LeftOut(padding_idx), nullptr,
                                           packed.Data<const T>(), count, grad_weight.Data<T>(), num_weights},
                                          factors,
                                          1,
                                          nullptr});
  });
}

Specs InferEmbeddingBag(const TensorView& weight, const TensorView& indices, const TensorView& offsets,
                        std::string_view mode, const std::optional<TensorView>& per_sample_weights,
                        bool include_last_offset, int64_t) {
  constexpr std::string_view kOp = "embedding_bag";
  CheckFloat({kOp, "weight"}, weight, weight);
  CheckRank({kOp, "weight"}, weight, 2, 2, "(rows, width)");
  CheckIndicesOfBags(kOp, indices, per_sample_weights, weight);
  CheckIntegers({kOp, "offsets"}, offsets, weight);
  CheckRank({kOp, "offsets"}, offsets, 1, 1, "(bags)");
  const int64_t bags = NumBags(offsets, include_last_offset);
  REPDL_CHECK(bags >= 0, ArgName{kOp, "offsets"}, " must hold a number at least with include_last_offset");
  const bool is_max = ParseMode(kOp, mode, per_sample_weights) == BagMode::kMax;
  const IntList shape = {bags, weight.shape[1]};
  return {{weight.dtype, shape},
          {offsets.dtype, indices.shape},
          {offsets.dtype, {bags}},
          {offsets.dtype, is_max ? shape : IntList{bags}}};
}

void EmbeddingBag(const TensorView& weight, const TensorView& indices, const TensorView& offsets, std::string_view mode,
                  const std::optional<TensorView>& per_sample_weights, bool include_last_offset, int64_t padding_idx,
                  Out output, Out offset2bag, Out bag_size, Out maximum_indices) {
  constexpr std::string_view kOp = "embedding_bag";
  const FpEnvGuard guard;
  CheckOutputs(kOp,
               InferEmbeddingBag(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx),
               {&output, &offset2bag, &bag_size, &maximum_indices}, weight);
  const Place place = PlaceOf(kOp, weight);
  OpScratch scratch(place);
  const int64_t count = indices.numel(), width = weight.shape[1], bags = output.shape[0];
  const int64_t* const rows = CheckedIndices({kOp, "indices"}, indices, weight.shape[0], scratch);
  const int64_t* const begins = CheckedOffsets({kOp, "offsets"}, offsets, bags, count, scratch);
  const IntegersOut bags_out(offset2bag, scratch), sizes_out(bag_size, scratch), maxima_out(maximum_indices, scratch);
  auto* const bounds = scratch.Get<int64_t>(bags + 1);
  int64_t* const sizes = sizes_out.data();
  int64_t* const to = padding_idx < 0 ? bags_out.data() : scratch.Get<int64_t>(count);
  BagsKernel(place, BagsArgs{count, bags, offsets.numel(), begins, rows, LeftOut(padding_idx), bounds, bags_out.data(),
                             to, sizes});
  FillWithZero(place, output);
  FillWith(place, maxima_out.data(), maximum_indices.numel(), int64_t{0});
  if (output.numel() > 0 && count > 0) {
    const TensorView table = Contiguous(weight, scratch);
    const BagMode parsed = ParseMode(kOp, mode, per_sample_weights);
    DispatchReal(weight.dtype, [&]<class T>() {
      if (parsed == BagMode::kMax) {
        return BagMaximaKernel(place, BagMaximaArgs<T>{bags, width, bounds, rows, to, table.Data<const T>(),
                                                       weight.shape[0], output.Data<T>(), maxima_out.data()});
      }
      const T* const factors = Factors<T>(per_sample_weights, scratch);
      IndexSumKernel(place, IndexSumArgs<T>{{1, count, width, to, -1, rows, table.Data<const T>(), weight.shape[0],
                                             output.Data<T>(), bags},
                                            factors,
                                            1,
                                            nullptr});
      if (parsed == BagMode::kMean) DivideRowsKernel(place, DivideRowsArgs<T>{bags, width, sizes, output.Data<T>()});
    });
  }
  for (const IntegersOut* const out : {&bags_out, &sizes_out, &maxima_out}) out->Finish(place);
}

Specs InferEmbeddingBagGrad(const TensorView& grad_output, const TensorView& indices, const TensorView& offset2bag,
                            const TensorView& bag_size, const TensorView& maximum_indices, int64_t num_weights, bool,
                            std::string_view mode, const std::optional<TensorView>& per_sample_weights, int64_t) {
  constexpr std::string_view kOp = "embedding_bag_grad";
  CheckFloat({kOp, "grad_output"}, grad_output, grad_output);
  CheckRank({kOp, "grad_output"}, grad_output, 2, 2, "(bags, width)");
  CheckIndicesOfBags(kOp, indices, per_sample_weights, grad_output);
  CheckIntegers({kOp, "offset2bag"}, offset2bag, grad_output);
  CheckShape({kOp, "offset2bag"}, offset2bag, indices.shape);
  CheckIntegers({kOp, "bag_size"}, bag_size, grad_output);
  CheckShape({kOp, "bag_size"}, bag_size, {grad_output.shape[0]});
  CheckIntegers({kOp, "maximum_indices"}, maximum_indices, grad_output);
  if (ParseMode(kOp, mode, per_sample_weights) == BagMode::kMax) {
    CheckShape({kOp, "maximum_indices"}, maximum_indices, grad_output.shape);
  }
  return TableOf(kOp, num_weights, grad_output.shape[1], grad_output.dtype);
}

void EmbeddingBagGrad(const TensorView& grad_output, const TensorView& indices, const TensorView& offset2bag,
                      const TensorView& bag_size, const TensorView& maximum_indices, int64_t num_weights,
                      bool scale_grad_by_freq, std::string_view mode,
                      const std::optional<TensorView>& per_sample_weights, int64_t padding_idx, Out grad_weight) {
  constexpr std::string_view kOp = "embedding_bag_grad";
  const FpEnvGuard guard;
  CheckOutputs(kOp,
               InferEmbeddingBagGrad(grad_output, indices, offset2bag, bag_size, maximum_indices, num_weights,
                                     scale_grad_by_freq, mode, per_sample_weights, padding_idx),
               {&grad_weight}, grad_output);
  const Place place = PlaceOf(kOp, grad_output);
  OpScratch scratch(place);
  const int64_t count = indices.numel(), bags = grad_output.shape[0], width = grad_output.shape[1];
  const int64_t* const rows = CheckedIndices({kOp, "indices"}, indices, num_weights, scratch);
  const int64_t* const from = CheckedIndices({kOp, "offset2bag"}, offset2bag, bags, scratch);
  const int64_t* const sizes = AsInt64(bag_size, scratch);
  const BagMode parsed = ParseMode(kOp, mode, per_sample_weights);
  const int64_t* const maxima = parsed == BagMode::kMax
                                    ? CheckedIndices({kOp, "maximum_indices"}, maximum_indices, num_weights, scratch)
                                    : nullptr;
  FillWithZero(place, grad_weight);
  if (grad_weight.numel() == 0 || (count == 0 && parsed != BagMode::kMax)) return;
  TensorView grad = Contiguous(grad_output, scratch);
  DispatchReal(grad_output.dtype, [&]<class T>() {
    if (parsed == BagMode::kMax) {
      return ScatterAddKernel(place, NumberTerms<T>{1, bags, width, maxima, grad.Data<const T>(), grad_weight.Data<T>(),
                                                    num_weights, sizes});
    }
    if (parsed == BagMode::kMean) {
      const TensorView divided = scratch.New(grad.dtype, grad.shape);
      CopyElements(place, grad, divided);
      grad = divided;
      DivideRowsKernel(place, DivideRowsArgs<T>{bags, width, sizes, grad.Data<T>()});
    }
    const T* const factors = Factors<T>(per_sample_weights, scratch);
    const T* const divisors =
        scale_grad_by_freq ? FrequenciesOf<T>(rows, count, num_weights, /*is_inverse=*/false, scratch) : nullptr;
    IndexSumKernel(place, IndexSumArgs<T>{{1, count, width, rows, LeftOut(padding_idx), from, grad.Data<const T>(),
                                           bags, grad_weight.Data<T>(), num_weights},
                                          factors,
                                          1,
                                          divisors});
  });
}

}  // namespace repdl

REPDL_OPS(
    embedding,
    MakeOp<InferEmbeddingGrad, EmbeddingGrad, FrequencyKernel, IndexSumKernel>(
        "embedding_grad", "grad_output, indices, num_weights, padding_idx=-1, scale_grad_by_freq=False", kFloat32Or64),
    MakeOp<InferEmbeddingBag, EmbeddingBag, BagMaximaKernel, BagsKernel, DivideRowsKernel, IndexSumKernel>(
        "embedding_bag",
        "weight, indices, offsets, mode='sum', per_sample_weights=None, include_last_offset=False, padding_idx=-1",
        kFloat32Or64),
    MakeOp<InferEmbeddingBagGrad, EmbeddingBagGrad, DivideRowsKernel, FrequencyKernel, IndexSumKernel,
           ScatterAddKernel>(
        "embedding_bag_grad",
        "grad_output, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq=False, "
        "mode='sum', per_sample_weights=None, padding_idx=-1",
        kFloat32Or64))
