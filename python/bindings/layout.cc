// SPDX-License-Identifier: MIT
#include "layout.h"

#include <utility>

namespace repdl {
namespace {

/// The step over a dimension of the result; 0 where the operand is repeated.
int64_t Step(const TensorView& operand, const IntList& shape, int64_t dim) {
  const auto own = static_cast<int>(dim) - (shape.size() - operand.rank());
  const bool is_repeated = own < 0 || operand.shape[own] != shape[static_cast<int>(dim)];
  return is_repeated ? 0 : operand.strides[own];
}

/// Positive if dimension a belongs inside b, negative if b belongs inside a, 0 if nothing tells.
int Compare(std::span<const Value> values, const IntList& shape, int64_t a, int64_t b) {
  for (const Value& value : values) {
    const auto* operand = std::get_if<TensorView>(&value);
    if (operand == nullptr || operand->rank() == 0) continue;
    const int64_t step_a = Step(*operand, shape, a), step_b = Step(*operand, shape, b);
    if (step_a == 0 || step_b == 0) continue;
    if (step_a != step_b) return step_a < step_b ? 1 : -1;
    if (shape[static_cast<int>(a)] != shape[static_cast<int>(b)] &&
        shape[static_cast<int>(b)] > shape[static_cast<int>(a)]) {
      return 1;
    }
  }
  return 0;
}

}  // namespace

IntList OrderOfStrides(std::span<const Value> values) {
  int rank = 0;
  for (const Value& value : values) {
    if (const auto* operand = std::get_if<TensorView>(&value)) rank = std::max(rank, operand->rank());
  }
  IntList shape;
  for (int dim = 0; dim < rank; ++dim) {
    int64_t size = 1;
    for (const Value& value : values) {
      const auto* operand = std::get_if<TensorView>(&value);
      const int own = operand == nullptr ? -1 : dim - (rank - operand->rank());
      if (own >= 0 && operand->shape[own] != 1) size = operand->shape[own];
    }
    shape.Append(size);
  }
  // An insertion sort from the innermost dimension, as torch's, so that what is undecided comes out alike.
  IntList inner_first;
  for (int dim = rank - 1; dim >= 0; --dim) inner_first.Append(dim);
  for (int i = 1; i < rank; ++i) {
    for (int outer = i, inner = i - 1; inner >= 0; --inner) {
      const int compared = Compare(values, shape, inner_first[outer], inner_first[inner]);
      if (compared > 0) {
        std::swap(inner_first[inner], inner_first[outer]);
        outer = inner;
      } else if (compared < 0) {
        break;
      }
    }
  }
  IntList order;
  for (int i = rank - 1; i >= 0; --i) order.Append(inner_first[i]);
  return order;
}

TensorView Arranged(const TensorView& operand, const IntList& order) {
  if (operand.rank() == 0) return operand;
  TensorView view = operand;
  view.shape = view.strides = {};
  for (int64_t dim : order) {
    const auto own = static_cast<int>(dim) - (order.size() - operand.rank());
    view.shape.Append(own < 0 ? 1 : operand.shape[own]);
    view.strides.Append(own < 0 ? 0 : operand.strides[own]);
  }
  return view;
}

}  // namespace repdl
