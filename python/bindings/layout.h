// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "repdl/op.h"

namespace repdl {

/// The dimensions of the result of a pointwise op, as torch lays it out: those with the longest steps first. It is
/// that of at::TensorIterator: of two dimensions, the first operand that steps differently over them decides. The
/// operands are the tensors among `values`, broadcast; single numbers do not count.
IntList OrderOfStrides(std::span<const Value> values);

/// The operand broadcast to as many dimensions as `order` has and with them in that order; a single number stays one.
/// Dimensions that the operand lacks have size 1.
TensorView Arranged(const TensorView& operand, const IntList& order);

}  // namespace repdl
