// SPDX-License-Identifier: MIT
#include "drivers/widened_op.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/fp_env.h"
#include "base/parallel.h"
#include "drivers/convert.h"

namespace repdl {
namespace {

/// The arguments, with what `change` makes of the tensors.
template <class Change>
class ChangedValues {
 public:
  ChangedValues(std::span<const Value> values, const Change& change) : size_(values.size()) {
    for (size_t i = 0; i < size_; ++i) {
      if (const auto* tensor = std::get_if<TensorView>(&values[i])) {
        values_[i] = change(*tensor);
      } else {
        values_[i] = values[i];
      }
    }
  }
  std::span<const Value> Get() const { return {values_.data(), size_}; }

 private:
  std::array<Value, kMaxArgs> values_;
  size_t size_;
};

Specs InferOfFloats(const OpInfo& op, std::span<const Value> values, DType low) {
  const ChangedValues wide(values, [&](TensorView tensor) {
    if (tensor.dtype == low) tensor.dtype = DType::kFloat32;
    return tensor;
  });
  return op.infer(wide.Get());
}

void RunWhole(const OpInfo& op, std::span<const Value> values, std::span<const TensorView> outputs, DType low) {
  const Place place;
  OpScratch scratch(place);
  const ChangedValues wide(
      values, [&](const TensorView& tensor) { return tensor.dtype == low ? Widened(tensor, scratch) : tensor; });
  std::array<TensorView, kMaxOutputs> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results[i] = outputs[i].dtype == low ? scratch.New(DType::kFloat32, outputs[i].shape) : outputs[i];
  }
  op.run(wide.Get(), std::span(results.data(), outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype == low) Convert(place, results[i], outputs[i]);
  }
}

/// 128 KB as floats: a few such are in the second cache.
constexpr int64_t kPieceNumbers = 32768;

/// A batch in pieces of a few steps along one of its dimensions, which lie in one step of those before.
class Pieces {
 public:
  /// Of `num_dims` dimensions of a batch.
  Pieces(const TensorView& first, int num_dims) {
    if (num_dims == 0) return;
    int64_t numbers = first.numel();
    for (dim_ = 0;; ++dim_) {
      numbers /= first.shape[dim_];
      if (numbers <= kPieceNumbers || dim_ + 1 == num_dims) break;
      num_outer_ *= first.shape[dim_];
    }
    rank_ = first.rank();
    size_ = first.shape[dim_];
    step_ = std::max<int64_t>(kPieceNumbers / numbers, 1);
    num_inner_ = (size_ + step_ - 1) / step_;
  }

  int64_t count() const { return num_outer_ * num_inner_; }

  /// The part of an input for a piece: all of one that has other dimensions.
  TensorView OfInput(const TensorView& input, int64_t piece) const {
    return input.rank() == rank_ ? Of(input, piece) : input;
  }

  TensorView Of(TensorView tensor, int64_t piece) const {
    const int64_t begin = piece % num_inner_ * step_;
    Take(tensor, dim_, begin, std::min(step_, size_ - begin));
    int64_t outer = piece / num_inner_;
    for (int dim = dim_ - 1; dim >= 0; --dim) {
      const int64_t size = tensor.shape[dim];
      Take(tensor, dim, outer % size, 1);
      outer /= size;
    }
    return tensor;
  }

 private:
  static void Take(TensorView& tensor, int dim, int64_t begin, int64_t count) {
    tensor.shape[dim] = count;
    tensor.data = tensor.Data<std::byte>() + begin * tensor.strides[dim] * ItemSize(tensor.dtype);
  }

  int rank_ = 0, dim_ = 0;
  int64_t num_outer_ = 1, num_inner_ = 1, size_ = 0, step_ = 0;
};

const TensorView& FirstTensor(std::span<const Value> values) {
  return std::get<TensorView>(
      *std::ranges::find_if(values, [](const Value& value) { return std::holds_alternative<TensorView>(value); }));
}

}  // namespace

Specs InferWidened(const OpInfo& op, std::span<const Value> values, DType low) {
  Specs specs = InferOfFloats(op, values, low);
  for (int i = 0; i < specs.size; ++i) {
    if (specs.spec[i].dtype == DType::kFloat32) specs.spec[i].dtype = low;
  }
  return specs;
}

void RunWidened(const OpInfo& op, std::span<const Value> values, std::span<const TensorView> outputs, DType low) {
  const FpEnvGuard guard;
  const TensorView& first = FirstTensor(values);
  if (first.numel() <= kPieceNumbers) return RunWhole(op, values, outputs, low);
  const Pieces pieces(first, InferOfFloats(op, values, low).num_batch_dims);
  if (pieces.count() == 1) return RunWhole(op, values, outputs, low);
  ParallelFor(pieces.count(), [&](int64_t piece) {
    const ChangedValues inputs(values, [&](const TensorView& input) { return pieces.OfInput(input, piece); });
    std::array<TensorView, kMaxOutputs> results;
    for (size_t i = 0; i < outputs.size(); ++i) results[i] = pieces.Of(outputs[i], piece);
    RunWhole(op, inputs.Get(), std::span(results.data(), outputs.size()), low);
  });
}

}  // namespace repdl
