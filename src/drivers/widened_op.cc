// SPDX-License-Identifier: MIT
#include "drivers/widened_op.h"

#include <algorithm>
#include <array>

#include "base/fp_env.h"
#include "drivers/convert.h"

namespace repdl {
namespace {

/// The arguments, with what `widen` makes of each tensor of `low`.
template <class Widen>
class WideValues {
 public:
  WideValues(std::span<const Value> values, DType low, const Widen& widen) : size_(values.size()) {
    for (size_t i = 0; i < size_; ++i) {
      const auto* tensor = std::get_if<TensorView>(&values[i]);
      if (tensor != nullptr && tensor->dtype == low) {
        values_[i] = widen(*tensor);
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

}  // namespace

Specs InferWidened(const OpInfo& op, std::span<const Value> values, DType low) {
  const WideValues wide(values, low, [](TensorView tensor) {
    tensor.dtype = DType::kFloat32;
    return tensor;
  });
  Specs specs = op.infer(wide.Get());
  for (int i = 0; i < specs.size; ++i) {
    if (specs.spec[i].dtype == DType::kFloat32) specs.spec[i].dtype = low;
  }
  return specs;
}

void RunWidened(const OpInfo& op, std::span<const Value> values, std::span<const TensorView> outputs, DType low) {
  const FpEnvGuard guard;
  const Place place;
  OpScratch scratch(place);
  const WideValues wide(values, low, [&](const TensorView& tensor) { return Widened(tensor, scratch); });
  std::array<TensorView, kMaxOutputs> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results[i] = outputs[i].dtype == low ? scratch.New(DType::kFloat32, outputs[i].shape) : outputs[i];
  }
  op.run(wide.Get(), std::span(results.data(), outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype == low) Convert(place, results[i], outputs[i]);
  }
}

}  // namespace repdl
